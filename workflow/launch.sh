#!/bin/sh
# Start the processes of a training: launch.sh PROCESSES NODES THREADS SCRIPT ARGUMENT...
# One is python itself; several are started by srun in a SLURM job, by torchrun elsewhere.
set -eu
processes=$1 nodes=$2 threads=$3
shift 3
if [ "$processes" -eq 1 ]; then
    exec python "$@"
elif [ -n "${SLURM_JOB_ID:-}" ]; then
    exec srun --kill-on-bad-exit=1 --nodes="$nodes" --ntasks="$processes" \
        --cpus-per-task="$threads" python "$@"
fi
# After a signal torchrun kills what has not ended in 30 seconds, in which an update may not be done.
export TORCH_ELASTIC_SHUTDOWN_TIMEOUT=600
# The processes meet in a file that we alone can read: a port would be open to others, whose pickles
# torchrun would run. Signs of life, which one machine has no use for, would fill the file.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
# SIGUSR1, too, which would end torchrun alone and leave the processes running
exec python -m torch.distributed.run --nproc-per-node="$processes" \
    --rdzv-backend=c10d --rdzv-conf=store_type=file,keep_alive_interval=86400 \
    --signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1 -- "$@"
