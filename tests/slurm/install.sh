#!/bin/sh
# Installs SLURM's daemons, which are not started, where they are missing and this may be done.
# Where not, the tests say what is missing, and skip.
export PATH="$PATH:/usr/sbin"
command -v slurmctld >/dev/null && command -v slurmd >/dev/null &&
    command -v munged >/dev/null && exit
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    # Another installation may be at work.
    install="apt-get -o DPkg::Lock::Timeout=300 install --yes --no-install-recommends"
    install="$install slurm-wlm munge"
    $install >/dev/null 2>&1 ||
        { apt-get update >/dev/null && $install >/dev/null; } ||
        echo "The packages slurm-wlm and munge could not be installed."
else
    echo "SLURM is missing: run \`apt-get install slurm-wlm munge\` as root."
fi
