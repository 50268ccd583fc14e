#!/bin/bash
# What target_own_signal shows of the program's own signal is the same with and without us, on the other machine too.
# test: aarch64
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated || skip "e2e_own_signal.sh is for the machine itself"
program=$TARGETS/target_own_signal

# Not what qemu-user 7.2 does otherwise: it leaves SIGKILL and SIGSTOP in handlers' masks (sigaction, by_number), and in flags what
# kernels since 5.11 take out (signal: SA_INTERRUPT), calls no handler after a wait with a mask that blocks the signal
# (wait_masks), and aborts when a forked child starts a thread, whose number it still has from the parent (fork, exec,
# default, by_number: qemu_plugin_vcpu_init_hook). And what the target starts is of the machine itself, where our library cannot be
# preloaded (pending_among_all, from_outside).
left_out='sigaction by_number signal wait_masks fork exec default pending_among_all from_outside'

run_cases() { # DIRECTORY RUN...
    local directory=$TMP/$1 name
    shift
    mkdir "$directory"
    for name in $("${RUN[@]}" "$program" list | grep -vxF "${left_out// /$'\n'}"); do
        timeout -k 5 "$HANG_S" "$@" "$program" "$name" 27 >"$directory/$name" 2>&1 || echo "status $?" >>"$directory/$name"
    done
}

export WALLPROF_SIGNAL=PROF WALLPROF_HZ=1000 WALLPROF_OBSERVE=signal WALLPROF_OUT=$TMP/own.%p.pb.gz
run_cases bare "${RUN[@]}" &
run_cases profiled "${RUN[@]}" -E "LD_PRELOAD=$LIBRARY" &
wait
diff -r "$TMP/bare" "$TMP/profiled" || fail "the same calls show something else"
profiles=("$TMP"/own.*.pb.gz)
echo "$(find "$TMP/bare" -type f | wc -l) cases are the same; ${#profiles[@]} profiles"
[ "${#profiles[@]}" -ge 15 ] || fail "hardly anything was profiled"
