#!/bin/bash
# Labels (include/wallprof.h): with what share of a thread's time, in every format, and whatever a program does wrong.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_labels
judge=$TESTS/judges/judge_labels.py

record() { # FILES HZ WHAT VARIABLE=VALUE...
    local files=$1 hz=$2 what=$3 variable
    shift 3
    (
        for variable in "WALLPROF_HZ=$hz" WALLPROF_OVERHEAD=off "$@"; do
            export "${variable?}"
        done
        profile_run "$files" "$program" "$what" 3000
    )
}

# ---- true ----

work() { # NAME VARIABLE=VALUE...
    local name=$1
    shift
    echo "== work $*"
    record "$TMP/$name.pb.gz,$TMP/$name.store,$TMP/$name.folded,$TMP/$name.callgrind,$TMP/$name.html" 250 work "$@" >"$TMP/$name.truth" 2>"$TMP/stderr" || fail "target_labels work ended with status $?"
    assert_equal stderr "$(cat "$TMP/stderr")" ""
}

# Another name than the kernel's, and no sample of who is uninteresting, whose CPU time is known all the same.
check_threads() { # FILE
    assert_equal "threads of $1" "$(threads_of "$1" | sort | tr '\n' ' ')" "busy bystander dreamer main "
    assert_equal "the bystander's functions" \
        "$(read_pprof roots "$1" | awk '$2 == "bystander" && $4 > 0.1 { print $5 }')" "[uninteresting]"
    read_pprof threads "$1" | awk '$2 == "bystander" && $4 > 0 && $5 > 0 { good = 1 } END { exit !good }' ||
        fail "the CPU time of a thread that is left alone is not known"
}

# Once more where the machine stood still for so long that what is allowed for it tells little.
true_work() { # NAME VARIABLE=VALUE...
    local name=$1 status
    for _ in first second; do
        work "$@"
        check_profile "$TMP/$name.pb.gz" --main="$program"
        "$PYTHON" "$judge" work "$TMP/$name.pb.gz" "$TMP/$name.truth"
        status=$?
        [ "$status" -ge 2 ] || break
        echo "the machine stood still for more than a quarter of the time"
    done
    [ $((status % 2)) -eq 0 ] || fail "work $*: the labels are not true"
}

true_work default
check_threads "$TMP/default.pb.gz"
if is_long; then
    true_work signal WALLPROF_OBSERVE=signal
fi

# Threads that are one have one sample for each stack and labels.
work none WALLPROF_LABELS=none WALLPROF_TIMELINE=pprof
check_profile "$TMP/none.pb.gz" --main="$program" --labels=none
"$PYTHON" "$judge" lines "$TMP/none.pb.gz" | awk '{ print $1 }' | sort >"$TMP/sets"
assert_equal "sets of labels without threads" "$(tr '\n' ' ' <"$TMP/sets")" "- phase=link phase=parse role=waits "

# ---- what the real pprof, and ours, make of it ----

pprof_total() { # OPTIONS... FILE
    run_pprof -top -unit=ns -sample_index=wall "$@" 2>/dev/null | sed -n 's/^Showing nodes accounting for \([0-9]*\)ns.*/\1/p'
}

of_label() { # LABEL: its wall time by our own reader
    "$PYTHON" "$judge" lines "$TMP/default.pb.gz" | awk -v label="$1" '$2 == label { sum += $3 } END { printf "%.0f\n", sum }'
}

for phase in parse link; do
    wanted=$(of_label "phase=$phase")
    assert_equal "pprof -tagfocus=phase=$phase" "$(pprof_total -nodefraction=0 -tagfocus="phase=$phase" "$TMP/default.pb.gz")" "$wanted"
    for file in "$TMP/default.store" "$TMP/default.pb.gz"; do
        "$BUILD/wallprof" top --json --label "phase=$phase" "$file" >"$TMP/json" || fail "wallprof top --label: status $?"
        assert_equal "wallprof top --label phase=$phase $file" \
            "$("$PYTHON" -c 'import json, sys; print(json.load(sys.stdin)["selected"]["wall_ns"])' <"$TMP/json")" "$wanted"
        assert_equal "stacks of wallprof top, $phase" "$("$BUILD/wallprof" top --json --stacks --idle "$file" | "$PYTHON" -c '
import json, sys
print(sum(stack["values"]["wall_ns"] for stack in json.load(sys.stdin)["stacks"] if stack["labels"].get("phase") == sys.argv[1]))' "$phase")" "$wanted"
        "$BUILD/wallprof" top --json --by label "$file" >"$TMP/json" || fail "wallprof top --by label: status $?"
        assert_equal "wallprof top --by label, $phase" "$("$PYTHON" -c '
import json, sys
print(*[row["flat"]["wall_ns"] for row in json.load(sys.stdin)["rows"] if row["name"] == sys.argv[1]])' "phase=$phase" <"$TMP/json")" "$wanted"
    done
done
run_pprof -tags "$TMP/default.pb.gz" 2>/dev/null | awk '/^ *[a-z_]+: Total/ { print $1 }' | tr -d '\n' >"$TMP/tags"
assert_equal "pprof's tags" "$(cat "$TMP/tags")" "on:phase:role:thread:thread_id:wait:"
for option in "" "-b function" "-b line"; do
    # shellcheck disable=SC2086 # options, or none
    ! "$BUILD/wallprof" top -n 0 -w 0 $option "$TMP/default.store" | grep -F "phase=" ||
        fail "a label is shown as a function (wallprof top $option)"
done
"$BUILD/wallprof" top "$TMP/default.store" | grep -F "[uninteresting] " || fail "top does not say what was left alone"

# ---- other formats, and back ----

for there in default.folded default.callgrind default.html; do
    grep -aF '{phase=parse}' "$TMP/$there" >"$TMP/found" || fail "$there has no frame for a label"
done
export_as() { # FROM TO
    "$BUILD/wallprof" export "$TMP/$1" -o "$TMP/$2" || fail "wallprof export $1: status $?"
}

export_as default.store once.pb.gz
export_as once.pb.gz twice.pb.gz
check_profile "$TMP/once.pb.gz" --main="$program"
cmp "$TMP/once.pb.gz" "$TMP/twice.pb.gz" || fail "read and written again it is another file"
export_as default.store once.folded
export_as twice.pb.gz twice.folded
# They round their sums in another order: by 1 ms.
awk '{ ms = $NF; sub(/ [0-9]+$/, "") }
    NR == FNR { once[$0] = ms; next }
    { off = once[$0] - ms; delete once[$0]; bad = bad || off < -1 || off > 1 }
    END { for (stack in once) bad = bad || once[stack] > 1; exit bad }' "$TMP/once.folded" "$TMP/twice.folded" ||
    fail "a pprof file does not say the same as its store"

# ---- never a set that was never there ----

pairs() { # VARIABLE=VALUE...
    echo "== pairs $*"
    record "$TMP/pairs.pb.gz" 4000 pairs "$@" || fail "target_labels pairs ended with status $?"
    check_profile "$TMP/pairs.pb.gz" --main="$program"
    "$PYTHON" "$judge" pairs "$TMP/pairs.pb.gz" || fail "labels that never were together, or none"
}

pairs
pairs WALLPROF_OBSERVE=signal

# ---- children ----

WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off profile_run "$TMP/fork-%p.pb.gz" "$program" fork 300 || fail "target_labels fork ended with status $?"
# Half of the child's time is with each of its sets; it has the parent's alone until it pushes its own, for which it may
# have to wait for a processor. What the parent does before and after is soon done.
for file in "$TMP"/fork-*.pb.gz; do
    "$PYTHON" "$judge" sets "$file" 20
done | LC_ALL=C sort >"$TMP/children"
assert_equal "the labels of child and parent" "$(cat "$TMP/children")" "- request=index,step=child
request=index"

# ---- misuse ----

profile_run "$TMP/misuse.pb.gz" "$program" misuse >"$TMP/misuse" 2>"$TMP/stderr" || fail "target_labels misuse ended with status $?"
assert_equal stderr "$(cat "$TMP/stderr")" ""
cat >"$TMP/wanted" <<'END'
no key: NULL
an empty key: NULL
no value: NULL
an empty value: NULL
a key with =: NULL
a long key: NULL
a long value: NULL
thread: NULL
thread_id: NULL
process: NULL
pid: NULL
rank: NULL
wait: NULL
end_timestamp_ns: NULL
push nothing: no label
push what is no label: no label
pop the outer one: 0
pop it again: not there
pop the inner one: 0
pop it again: not there
pop an error: no label
pop any number: no label
the 16th: a token
the 17th: full
push in a child of vfork: not recorded
name in a child of vfork: not recorded
labels of 10000: all
stacks of 262144: all
one that there has been: a token
END
diff "$TMP/wanted" "$TMP/misuse" || fail "what is done wrong is not answered as wallprof.h has it"
check_profile "$TMP/misuse.pb.gz" --main="$program"

# ---- without us ----

bare_run "$program" misuse >"$TMP/bare" || fail "bare, target_labels misuse ended with status $?"
sed 's/: \(a token\|no label\|full\|not there\|not recorded\)$/: 0/; s/^\(.*key.*\|.*value.*\|thread.*\|process\|pid\|rank\|wait\|end_timestamp_ns\): 0$/\1: NULL/; s/: all$/: none/' \
    "$TMP/wanted" >"$TMP/wanted.bare"
diff "$TMP/wanted.bare" "$TMP/bare" || fail "without the library calls do something"
bare_run "$program" work 20 >/dev/null || fail "bare, target_labels work ended with status $?"

# However it is compiled and linked: with us it is recorded, but for static programs, which cannot be.
links() { # COMPILER SOURCE WANTED OPTIONS...
    local compiler=$1 source=$2 wanted=$3 said
    shift 3
    type -P "$compiler" >/dev/null || return 0
    "$compiler" "$@" -Wall -Wextra -Werror -I"$ROOT/include" -I"$TESTS/targets" -o "$TMP/linked" "$source" -pthread 2>"$TMP/said" || {
        cat "$TMP/said"
        fail "$compiler $* cannot compile $source"
    }
    said=$("$TMP/linked" 1) || fail "$compiler $*: status $? without the library"
    assert_equal "$compiler $*, alone" "$said" alone
    said=$(profile_run "$TMP/linked.pb.gz" "$TMP/linked" 1) || fail "$compiler $*: status $?"
    assert_equal "$compiler $*" "$said" "$wanted"
}

cat >"$TMP/plain.c" <<'END'
#include "wallprof.h"
#include <stdio.h>

int main(void)
{
    int token = wallprof_push(WALLPROF_LABEL("a", "b"));
    puts(token > 0 && wallprof_pop(token) == 0 ? "recorded" : token == 0 ? "alone" : "an error");
    return 0;
}
END
if ! is_emulated; then
    for compiler in gcc clang; do
        for how in "-pie -fPIE" "-no-pie -fno-pie" "-O2 -fno-plt" "-Wl,-z,now -std=gnu99 -pedantic"; do
            # shellcheck disable=SC2086 # options
            links "$compiler" "$TMP/plain.c" recorded $how
        done
        links "$compiler" "$TMP/plain.c" alone -static
        links "$compiler" "$TMP/plain.c" alone -static-pie
    done
    for compiler in g++ clang++; do
        links "$compiler" "$TESTS/targets/target_scopes.cc" recorded -std=c++11 -pedantic
        links "$compiler" "$TESTS/targets/target_scopes.cc" recorded -std=c++20 -O2 -no-pie
        links "$compiler" "$TMP/plain.c" recorded -x c++ -Wold-style-cast -Wzero-as-null-pointer-constant -Wshadow
        links "$compiler" "$TESTS/targets/target_scopes.cc" alone -static
    done
fi

# ---- C++ ----

# Each set for two ninths of the time, and none for the last one; between two of them a tick may also see one label
# alone.
WALLPROF_HZ=1000 WALLPROF_OVERHEAD=off profile_run "$TMP/scopes.pb.gz" "$TARGETS/target_scopes" 150 >/dev/null ||
    fail "target_scopes ended with status $?"
assert_equal "labels of scopes" "$("$PYTHON" "$judge" sets "$TMP/scopes.pb.gz" 5)" \
    "- step=read,tenant=even step=read,tenant=odd step=write,tenant=even step=write,tenant=odd"
exit "$bad"
