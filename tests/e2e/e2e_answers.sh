#!/bin/bash
# A report names the function that somebody would have to change, and why it is slow, on its first screen (24 lines of 80 columns)
# and first in `explain --json`, for twenty planted bottlenecks.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

program=$TARGETS/target_answers
bad=0
# What runs may wait for a CPU on a crowded machine.
declare -A expected=(
    [mutex]='waiting for a lock' [rwlock]='waiting for a lock' [semaphore]='waiting for a condition'
    [condition]='waiting for a condition' [sleep]='asleep' [file]='in files' [network]='waiting for the network'
    [pipe]='in files' [poll]='polling' [child]='waiting for a thread or process to end'
)

first_of_explain() { # FILE: "FUNCTION: WHY"
    run_tool explain --json "$1" | "$PYTHON" -c '
import json, sys
text = sys.stdin.read()
assert len(text) <= 4000, len(text)
first = json.loads(text)["findings"][0]
print(first["function"] + ":", first["why"])'
}

# For comparison: the first row of pprof.
first_of_pprof() { # FILE
    run_pprof -top -sample_index=wall "$1" 2>/dev/null | awk '/flat%/ { getline; $1 = $2 = $3 = $4 = $5 = ""; sub(/^ +/, ""); print; exit }'
}

# A wait for processes is a finding only where nothing else is, so there the first row tells.
check_answer() { # KIND
    local found explained
    run_tool top "$TMP/$1.pb.gz" >"$TMP/$1.top" || fail "$1: no report"
    found=$(head -n 24 "$TMP/$1.top" | cut -c 1-80 | grep -a -m 1 -E '^ +[0-9.]+% .*: ') # not what is waited for, which may go on on a line of its own
    if [ "$1" = child ]; then
        found=$(sed -n '/ FUNCTION$/{n;p;q}' "$TMP/$1.top")
        [[ $found == *child*planted_child* ]] || complain "$1: the first row is '$found'"
    else
        [[ $found == *planted_$1*${expected[$1]-}* ]] || complain "$1: the first finding is '$found'"
        explained=$(first_of_explain "$TMP/$1.pb.gz")
        [[ $explained == planted_$1*:*${expected[$1]-}* ]] || complain "$1: explained first is '$explained'"
    fi
    run_tool callers "planted_$1" "$TMP/$1.pb.gz" | grep -E '^ +[0-9.]+% .* handle$' >/dev/null || complain "$1: handle does not call it"
    hides_idle <"$TMP/$1.top" || complain "$1: nothing is idle"
    echo "$1: $found (pprof -top: $(first_of_pprof "$TMP/$1.pb.gz"))"
}

run_tool() { "$BUILD/wallprof" "$@"; }

# Lines are wrapped, between these words too.
hides_idle() { tr -s ' \n' ' ' | grep 'idle (hidden)' >/dev/null; }

for kind in $("$program" list); do
    WALLPROF_OVERHEAD=off profile_run "$TMP/$kind.pb.gz" "$program" "$kind" || fail "$kind: it ended with status $?"
    check_answer "$kind"
done

# What the user says of idle time, by the variable and by the option, which replaces it.
finds_sleep() { # ARGUMENTS OF wallprof...
    run_tool "$@" "$TMP/sleep.pb.gz" | grep -q '% *planted_sleep'
}
finds_sleep top || complain 'no planted_sleep'
for command in top explain; do
    WALLPROF_IDLE='planted_s*p' finds_sleep $command && complain "$command: what WALLPROF_IDLE names is not idle"
done
finds_sleep top --idle=planted_sleep && complain 'what --idle names is not idle'
WALLPROF_IDLE='planted_s*p' finds_sleep top --idle=hide || complain '--idle does not replace WALLPROF_IDLE'
WALLPROF_IDLE=show run_tool top "$TMP/sleep.pb.gz" | hides_idle && complain 'WALLPROF_IDLE=show hides'
WALLPROF_IDLE=show run_tool top --idle=hide "$TMP/sleep.pb.gz" | hides_idle || complain '--idle=hide shows'
exit "$bad"
