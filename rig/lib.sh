# shellcheck shell=bash
# Functions that the commands of the rig share. Sourced, never run.
#
# Everything that a command downloads, builds or writes is below .rig/ in the checkout; a server listens on 127.0.0.1
# only, outlives the command that started it, and is found again by the pid file in its folder.
# stdout carries what a caller may evaluate or store; everything for people goes to stderr.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
rig=$root/.rig
self=rig/$(basename "$0")

say() { printf '%s: %s\n' "$self" "$*" >&2; }

# fail MESSAGE [HINT]
fail() {
    say "$1"
    [ -z "${2:-}" ] || printf '  do: %s\n' "$2" >&2
    exit 1
}

# need COMMAND HINT
need() { command -v "$1" >/dev/null || fail "$1 is missing" "$2"; }

# uncoloured: copy stdin to stderr without ANSI sequences: Maven prints some also where it is told to use no colour.
uncoloured() { sed $'s/\e\\[[0-9;]*m//g' >&2; }

# absolute DIR: DIR as an absolute path, relative to where the command was called.
absolute() { case $1 in /*) printf '%s\n' "$1" ;; *) printf '%s\n' "$PWD/$1" ;; esac; }

# locked FILE: go on as the only holder of FILE, until this command ends.
locked() {
    need flock "install util-linux (Debian: apt-get install util-linux)"
    mkdir -p "$(dirname "$1")"
    local fd
    exec {fd}>"$1"
    flock -n "$fd" && return
    say "waiting for another command that holds $1"
    flock -w 900 "$fd" || fail "another command has held $1 for 15 minutes" "look for it with: fuser -v $1"
}

# started PID: when the process started, in clock ticks since boot; nothing if there is none or only its zombie. Beside
# the number it tells the process from a later one that the number was given to.
started() {
    local line
    { line=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
    line=${line##*) } # the name in parentheses may hold anything
    set -- $line
    [ "$1" = Z ] || printf '%s\n' "${20}"
}

# alive PIDFILE
alive() {
    local pid start
    [ -s "$1" ] || return 1
    read -r pid start <"$1"
    [ -n "$start" ] && [ "$(started "$pid")" = "$start" ]
}

# awake PIDFILE: prints yes if it is alive and not paused by SIGSTOP.
awake() {
    local pid start line
    alive "$1" || return 0
    read -r pid start <"$1"
    { line=$(<"/proc/$pid/stat"); } 2>/dev/null || return 0
    line=${line##*) }
    [ "${line%% *}" = T ] || echo yes
}

# launch PIDFILE LOG COMMAND...: start a server that outlives its caller. It inherits no descriptor: a caller that waits
# for the end of a pipe, or holds a lock, must not wait for the server.
launch() {
    local pidfile=$1 log=$2 fd pid
    shift 2
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            if [ "$fd" -gt 2 ]; then eval "exec $fd>&-"; fi
        done
        exec setsid "$@"
    ) </dev/null >>"$log" 2>&1 &
    pid=$!
    printf '%s %s\n' "$pid" "$(started "$pid")" >"$pidfile"
}

# signal NAME PIDFILE
signal() {
    local pid start
    alive "$2" || return 0
    read -r pid start <"$2"
    kill -s "$1" "$pid"
}

# gone SECONDS PIDFILE...: wait until none of them is alive; false if one still is.
gone() {
    local until=$((SECONDS + $1)) pidfile
    shift
    for pidfile; do
        while alive "$pidfile"; do
            [ "$SECONDS" -lt "$until" ] || return 1
            sleep 0.05
        done
        rm -f "$pidfile"
    done
}

# halt PIDFILE...: ask, wait 15 s, then insist. A paused server hears nothing until it goes on.
halt() {
    local pidfile
    for pidfile; do
        signal TERM "$pidfile"
        signal CONT "$pidfile"
    done
    gone 15 "$@" && return
    for pidfile; do signal KILL "$pidfile"; done
    gone 15 "$@" || fail "a server survived SIGKILL: $*"
}

# await SECONDS PIDFILE LOG COMMAND...: run COMMAND until it succeeds. Fails with the end of the log if the server dies
# or the time is over.
await() {
    local until=$((SECONDS + $1)) pidfile=$2 log=$3
    shift 3
    until "$@"; do
        if ! alive "$pidfile"; then
            tail -n 20 "$log" >&2
            fail "the server ended while it started" "read $log"
        fi
        if [ "$SECONDS" -ge "$until" ]; then
            tail -n 20 "$log" >&2
            fail "the server does not answer" "read $log"
        fi
        sleep 0.1
    done
}

# listening PORT: does anything accept connections there?
listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# ports FIRST COUNT STEP: the first port of a block of COUNT free ones, tried in steps from FIRST. Two checkouts must not
# choose the same block, so the caller holds the lock of the machine until its server listens.
ports() {
    local first=$1 port taken
    while [ "$first" -lt 32000 ]; do # above, the kernel hands out ports to clients
        taken=
        for ((port = first; port < first + $2; port++)); do
            if unavailable "$port"; then
                taken=1
                break
            fi
        done
        if [ -z "$taken" ]; then
            printf '%s\n' "$first"
            return
        fi
        first=$((first + $3))
    done
    fail "no $2 free ports in a row from $1 up" "stop other servers, or name a port with --port"
}

# unavailable PORT: may a server that is to be started not have the port?
unavailable() { listening "$1"; }

# choosing_ports: hold the lock of the machine under which ports are chosen.
choosing_ports() { locked "/tmp/sluice-rig-ports.$(id -u).lock"; }
