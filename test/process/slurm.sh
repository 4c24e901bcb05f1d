# slurm.sh - a private Slurm cluster on this machine, for tests that source it.
#
#   slurm_hosts COUNT   network namespaces n1 to nCOUNT and ctl, at one switch
#   slurm_start         slurmctld and munged on ctl, a slurmd on each other host
#   slurm_on HOST CMD   run a command there
#   slurm_kill HOST     end its daemon, and all that runs on that host
#   slurm_stop          the same for all
#   timed COMMAND       run COMMAND, and set $limit_ms for a command like it
#
# Must run as root of mount, process and network namespaces of its own: all that
# it makes vanishes with them. Needs $work, a folder. The daemons' logs are in
# $work/slurm.
# shellcheck shell=sh disable=SC2154

# The time of a launch depends on the load and on sanitizers. $limit_ms is eight
# times the duration of COMMAND, at least 20 s and at most 60 s: a load that
# begins after COMMAND delays forty processes of Slurm.
timed() {
    began_ms=$(date +%s%3N)
    timed_status=0
    "$@" || timed_status=$?
    limit_ms=$((8 * ($(date +%s%3N) - began_ms)))
    [ "$limit_ms" -ge 20000 ] || limit_ms=20000
    [ "$limit_ms" -le 60000 ] || limit_ms=60000
    return "$timed_status"
}

slurm_hosts() {
    slurm_count=$1
    slurm_dir=$work/slurm
    mkdir -p "$slurm_dir/state" "$slurm_dir/log" "$slurm_dir/cgroup"
    mount -t tmpfs none /run
    mount -t tmpfs none /dev/shm
    mkdir /run/netns
    {
        echo "127.0.0.1 localhost"
        echo "10.78.0.1 ctl"
        for n in $(seq "$slurm_count"); do
            echo "10.78.$(((n + 1) / 250)).$(((n + 1) % 250 + 1)) n$n"
        done
    } >"$slurm_dir/hosts"
    mount --bind "$slurm_dir/hosts" /etc/hosts
    ip netns add switch
    ip -n switch link add name bridge type bridge
    ip -n switch link set bridge up
    sed 1d "$slurm_dir/hosts" | while read -r address name; do
        ip netns add "$name"
        ip -n switch link add "$name" type veth peer name cable netns "$name"
        ip -n switch link set "$name" master bridge up
        ip -n "$name" addr add "$address/16" dev cable
        ip -n "$name" link set lo up
        ip -n "$name" link set cable up
    done
}

slurm_on() {
    host=$1
    shift
    nsenter --net="/run/netns/$host" env SLURM_CONF="$slurm_dir/slurm.conf" "$@"
}

# Each host has its own name for gethostname(), and sees only its own processes
# and network devices. (slurmd needs the control groups.)
slurm_daemon() { # NAME HOST COMMAND...
    daemon=$1
    name=$2
    shift 2
    # shellcheck disable=SC2016 # for the inner shell
    nsenter --net="/run/netns/$name" \
        unshare -u -p -m -f --mount-proc --kill-child sh -c \
        'hostname "$1" && mount --rbind /sys/fs/cgroup "$0" &&
            mount -t sysfs none /sys && mount --rbind "$0" /sys/fs/cgroup &&
            shift && exec "$@"' "$slurm_dir/cgroup" "$name" "$@" \
        >"$slurm_dir/log/$daemon.out" 2>&1 </dev/null &
    echo $! >"$slurm_dir/pid-$daemon"
}

# slurm_kill HOST - the host dies, with all its processes.
slurm_kill() {
    read -r pid <"$slurm_dir/pid-$1"
    kill -9 "$pid" 2>/dev/null || :
    wait "$pid" 2>/dev/null || :
}

# Slurm's own time-outs are longer than the limits of the tests, so that no test
# depends on the order in which they expire.
slurm_start() {
    cat >"$slurm_dir/slurm.conf" <<END
ClusterName=coppice
SlurmctldHost=ctl
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm_dir/munge.socket
CredType=cred/munge
StateSaveLocation=$slurm_dir/state
SlurmdSpoolDir=$slurm_dir/spool-%n
SlurmctldPidFile=$slurm_dir/ctld.pid
SlurmdPidFile=$slurm_dir/%n.pid
SlurmctldLogFile=$slurm_dir/log/ctld
SlurmdLogFile=$slurm_dir/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=3600
MessageTimeout=100
KillWait=2
MailProg=/bin/true
NodeName=n[1-$slurm_count] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    head -c 64 /dev/urandom >"$slurm_dir/munge.key"
    chmod 400 "$slurm_dir/munge.key"
    munged -F --force -S "$slurm_dir/munge.socket" \
        --key-file="$slurm_dir/munge.key" --pid-file="$slurm_dir/munge.pid" \
        --seed-file="$slurm_dir/munge.seed" --log-file="$slurm_dir/log/munge" \
        >/dev/null 2>&1 </dev/null &
    echo $! >"$slurm_dir/pid-munge"
    slurm_daemon ctl ctl slurmctld -D -f "$slurm_dir/slurm.conf"
    for n in $(seq "$slurm_count"); do
        slurm_daemon "n$n" "n$n" slurmd -D -N "n$n" -f "$slurm_dir/slurm.conf"
    done
    slurm_looks=1200
    until [ "$(slurm_on ctl sinfo -h -t idle -o %D 2>/dev/null)" = "$slurm_count" ]; do
        slurm_looks=$((slurm_looks - 1))
        if [ "$slurm_looks" = 0 ]; then
            echo "the cluster does not come up:"
            tail -n 5 "$slurm_dir"/log/*
            return 1
        fi
        sleep 0.1
    done
}

slurm_stop() {
    for pid in "$slurm_dir"/pid-*; do
        slurm_kill "${pid##*/pid-}"
    done
}
