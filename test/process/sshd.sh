# shellcheck shell=sh
# sshd.sh - for tests that source it: an sshd of the test's own, with its own
# keys, on a free port of loopback addresses; and ssh to it. As root it needs
# /run/sshd, which it makes. The caller has set `work`, a folder of its own, and
# calls stop_sshd at its end.
sshd_pid=

skip() {
    echo "skipped: $*"
    exit 77
}

stop_sshd() {
    if [ -n "$sshd_pid" ]; then
        kill "$sshd_pid" 2>/dev/null || :
        wait "$sshd_pid" 2>/dev/null || :
        sshd_pid=
    fi
}

# configure_sshd [NAME=VALUE...] - make a host key, a user key that may log in,
# one that may not, and the configuration. Programs started by ssh get these
# variables, and SHLVL: without it bash runs ~/.bashrc, which may do anything
# and take any time.
configure_sshd() {
    sshd=$(PATH=$PATH:/usr/sbin:/sbin command -v sshd) ||
        skip "there is no sshd: install openssh-server"
    if [ "$(id -u)" = 0 ]; then
        (umask 022 && mkdir -p /run/sshd) ||
            skip "sshd needs /run/sshd, which cannot be made here"
    fi
    for key in host_key key stranger; do
        ssh-keygen -q -t ed25519 -N '' -f "$work/$key"
    done
    cat >"$work/sshd_config" <<TEXT
HostKey $work/host_key
AuthorizedKeysFile $work/key.pub
PidFile none
AuthenticationMethods publickey
PermitRootLogin yes
StrictModes no
UsePAM no
PermitUserRC no
MaxStartups 100
LogLevel VERBOSE
SetEnv SHLVL=1 $*
TEXT
    echo "* $(cut -d ' ' -f 1,2 "$work/host_key.pub")" >"$work/known_hosts"
}

# try_port PORT ADDRESS... - wait until an sshd listens, or has ended because
# another process has that port.
try_port() {
    listen=
    for address in "$@"; do
        [ "$address" = "$1" ] || listen="$listen -o ListenAddress=$address"
    done
    : >"$work/sshd.log"
    # shellcheck disable=SC2086 # options
    "$sshd" -D -e -f "$work/sshd_config" -p "$1" $listen \
        2>"$work/sshd.log" 9>&- &
    sshd_pid=$!
    while kill -0 "$sshd_pid" 2>/dev/null; do
        if grep -q 'Bind to port .* failed' "$work/sshd.log"; then
            break
        fi
        if [ "$(grep -c '^Server listening on' "$work/sshd.log")" -ge \
            $(($# - 1)) ]; then
            return 0
        fi
        sleep 0.05
    done
    stop_sshd
    return 1
}

# Prints a port that was free a moment ago.
free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# start_sshd ADDRESS... - sets port and sshd_pid, or skips the test.
start_sshd() {
    tries=20
    while port=$(free_port) && ! try_port "$port" "$@"; do
        tries=$((tries - 1))
        if [ "$tries" = 0 ] || ! grep -q 'Bind to port' "$work/sshd.log"; then
            cat "$work/sshd.log"
            echo "FAIL: sshd does not start"
            exit 1
        fi
    done
    # shellcheck disable=SC2046 # the command is words
    if ! $(ssh_command key) "$1" true >"$work/out" 2>"$work/err"; then
        cat "$work/out" "$work/err" "$work/sshd.log"
        skip "this user may not log in here: $(tail -n 1 "$work/err")"
    fi
}

# ssh_command KEY - print ssh's command line up to the host, as words. KEY is
# the name of a key of configure_sshd.
ssh_command() {
    echo ssh -F none -T -p "$port" -i "$work/$1" -o IdentitiesOnly=yes \
        -o IdentityAgent=none -o BatchMode=yes -o ClearAllForwardings=yes \
        -o StrictHostKeyChecking=yes -o GlobalKnownHostsFile=/dev/null \
        -o UserKnownHostsFile="$work/known_hosts"
}
