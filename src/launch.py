"""Start the processes of one training: by srun in a SLURM job, by torchrun elsewhere.

Each gets RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. In a SLURM job they may be on
several nodes, and the first of them is on this one or, where this is not one of them but the node
that `salloc` was called on, on the first of the job.
"""

import argparse
import os
import sys

from nmt import command
from nmt.errors import UserError
from nmt.training import slurm

# The numbers that srun gives each of its tasks, in torch's words
AS_RANK = 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS exec "$0" "$@"'


def main(args: argparse.Namespace) -> None:
    """Become srun or torchrun."""
    if slurm.in_job() and not slurm.in_step():
        # Below the ports that systems give away by themselves, and another one for each training of
        # a job
        port = 20000 + (int(os.environ["SLURM_JOB_ID"]) + os.getpid()) % 12000
        os.environ.update(MASTER_ADDR=slurm.first_host(), MASTER_PORT=str(port))
        start = [
            "srun",
            "--kill-on-bad-exit=1",
            f"--nodes={args.nodes}",
            f"--ntasks={args.processes}",
            f"--cpus-per-task={args.threads}",
            *["sh", "-c", AS_RANK, sys.executable],
        ]
    else:
        if args.nodes > 1:
            raise UserError(
                f"{args.nodes} nodes are only there in a SLURM job, outside its steps: leave out"
                " --nodes, or snakemake's --set-resources train:nodes."
            )
        # After a signal torchrun kills the processes that have not ended in 30 seconds, in which an
        # update may not be done. torch 2.11 does not know the variable.
        os.environ.setdefault("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(slurm.SECONDS_TO_BE_KILLED))
        start = [
            *[sys.executable, "-m", "torch.distributed.run", "--standalone"],
            f"--nproc-per-node={args.processes}",
            # SIGUSR1 too, which would end torchrun alone and leave the processes running
            "--signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1",
        ]
    os.execvp(start[0], [*start, *args.command])


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--processes", type=command.whole_number(1), required=True)
    parser.add_argument("--nodes", type=command.whole_number(1), default=1)
    parser.add_argument(
        "--threads",
        type=command.whole_number(1),
        default=1,
        help="CPU cores of each process",
    )
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="train.py and its arguments, after --"
    )
    command.run(main, parser)
