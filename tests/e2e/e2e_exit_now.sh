#!/bin/bash
# Without a wrapper and without a store: a process that ends by _exit has a profile all the same. See target_exit_now.c.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
program=$TARGETS/target_exit_now

run() { # NAME COMMAND...
    local name=$1 status word pid worked
    shift
    echo "== $name"
    mkdir "$TMP/$name"
    profile_run "$TMP/$name/%p.pb.gz" timeout --kill-after=1 "$HANG_S" "$@" >"$TMP/out" 2>"$TMP/err"
    status=$?
    [ "$status" = 3 ] || complain "$name: status $status, not 3"
    [ ! -s "$TMP/err" ] || complain "$name: on stderr: $(cat "$TMP/err")"
    worked=0
    while read -r word pid; do
        case $word in
        with) (check_profile "$TMP/$name/$pid.pb.gz") || complain "$name: no good profile of $pid"
            worked=$((worked + $(has_function "$TMP/$name/$pid.pb.gz" work && echo 1 || echo 0))) ;;
        without) [ ! -e "$TMP/$name/$pid.pb.gz" ] || complain "$name: there is a profile of $pid, a child with its parent's memory" ;;
        esac
    done <"$TMP/out"
    case $name in
    soon | with-lock | dash) ;;
    *) [ "$worked" -gt 0 ] || complain "$name: its work is in no profile" ;;
    esac
}

for mode in $("$program" modes); do
    run "$mode" "$program" "$mode"
done
if type -P dash >/dev/null; then # ctl waits until its sampler has set itself up
    run dash dash -c "LD_PRELOAD= '$BUILD/wallprof' ctl --timeout $HANG_S \$\$ status >/dev/null; echo \"with \$\$\"; exit 3"
else
    leave_out dash "it is not installed"
fi
exit "$bad"
