#!/bin/bash
# Two builds of one program compared as CI would: several runs of each, in turns, and a verdict by exit status. The second
# build does three times the work in one function. Limits are far from what a busy machine could do: half as much more.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
[ -x "$tool" ] || skip "there is no tool for this machine"
need cc
cat >"$TMP/job.c" <<'END'
static volatile unsigned long sum;
static __attribute__((noinline)) void spin(unsigned long rounds)
{
    for (unsigned long i = 0; i < rounds; i++)
        sum = sum + i;
}
__attribute__((noinline)) void parse(void) { spin(TIMES * 20000000ul); sum = sum + 1; }
__attribute__((noinline)) void render(void) { spin(20000000ul); sum = sum + 1; }
int main(void)
{
    parse();
    render();
    return 0;
}
END
cc -O1 -g -DTIMES=1 -o "$TMP/job-1.0" "$TMP/job.c" || fail "the program cannot be compiled"
cc -O1 -g -DTIMES=3 -o "$TMP/job-1.1" "$TMP/job.c" || fail "the program cannot be compiled"

# Each side's runs in turns, so that what the machine does besides is in both.
record_in_turns() { # RUNS SIDE:VERSION...
    local runs=$1 run side
    shift
    for ((run = 1; run <= runs; run++)); do
        for side; do
            mkdir -p "$TMP/${side%:*}"
            profile_run "$TMP/${side%:*}/$run.pb.gz" "$TMP/job-${side#*:}" || fail "job-${side#*:} ended with status $?"
        done
    done
}

record_in_turns 5 base:1.0 same:1.0 slow:1.1

says() { # STATUS TEXT ARGUMENTS OF wallprof diff...
    local wanted=$1 text=$2 status
    shift 2
    "$tool" diff "$@" >"$TMP/out" 2>"$TMP/err"
    status=$?
    [ "$status" = "$wanted" ] || complain "wallprof diff $*: status $status, not $wanted: $(cat "$TMP/out" "$TMP/err")"
    grep -qE -e "$text" "$TMP/out" "$TMP/err" || complain "wallprof diff $*: no '$text' in $(cat "$TMP/out" "$TMP/err")"
}

base=$TMP/base same=$TMP/same slow=$TMP/slow
says 0 '^gate    cpu .*, 50% allowed: passed' --sort cpu --gate 50% "$base" "$same"
says 3 '^gate    cpu \+[0-9.]+% ±[0-9.]+%, 50% allowed: failed$' --sort cpu --gate 50% "$base" "$slow"
says 0 '^gate    cpu -[0-9.]+% ' --sort cpu --gate 50% "$slow" "$base"
says 3 '^        in parse and what it calls$' --sort cpu --gate 50 --on parse "$base" "$slow"
says 0 '^gate    cpu .*: passed' --sort cpu --gate 50 --on render "$base" "$slow"
says 0 '^work    1 to 2 units: cpu ' --sort cpu --gate 50 --per 1,2 "$base" "$slow"
says 3 '^\*\*cpu \+.* allowed: failed\*\*' --sort cpu --gate 50 --markdown "$base" "$slow"
says 3 'Compare|directories of several runs' --sort cpu --gate 50 "$base/1.pb.gz" "$slow/1.pb.gz"
says 0 '^runs    5 to 1; times are of one run$' --sort cpu "$base" "$slow/1.pb.gz"

# Enough runs to be compared pair by pair.
record_in_turns 8 first:1.0 second:1.1
says 3 '^runs    8 to 8, made in turns; ' --sort cpu --gate 50 "$TMP/first" "$TMP/second"
says 3 '"in_turns":true' --json --sort cpu --gate 50 "$TMP/first" "$TMP/second"

# A run with two outputs is one run.
mkdir "$TMP/twice"
cp "$slow/1.pb.gz" "$slow/2.pb.gz" "$TMP/twice"
cp "$slow/1.pb.gz" "$TMP/twice/1.store"
says 0 '^runs    5 to 2; ' "$base" "$TMP/twice"

# The file has another name in the second version, and is one module.
"$tool" diff --json --by module "$base" "$slow" | "$PYTHON" -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
assert [row["presence"] for row in rows if "job-1" in row["name"]] == ["both"], rows' ||
    complain "the program of another name is another module"
"$tool" diff --json --sort cpu --gate 50 --on parse "$base" "$slow" >"$TMP/gate.json"
assert_equal "status of a gate that fails, with JSON" "$?" 3
"$PYTHON" <"$TMP/gate.json" -c '
import json, sys
diff = json.load(sys.stdin)
gate = diff["gate"]
assert diff["version"] == 2 and diff["runs"] == [5, 5] and diff["scaled_by"] == "none", diff
assert gate["on"] == "parse" and gate["metric"] == "cpu" and gate["limit"] == 0.5, gate
assert not gate["passed"] and gate["certain"] and gate["change"] > 0.5, gate
assert abs(gate["after"] / gate["before"] - 1 - gate["change"]) < 1e-5, gate' || complain "what the gate says as JSON"

# ---- what cannot be judged is an error, not a pass ----

mkdir "$TMP/empty"
says 1 "neither side has such a row; did you mean 'parse'" --gate 5 --on pasre "$base" "$slow"
says 1 'there is no recording in this directory' --gate 5 "$base" "$TMP/empty"
says 1 '/nonexistent: No such file' --gate 5 "$base" /nonexistent
says 2 "--gate 'much'" --gate much "$base" "$slow"
says 2 "--gate '-5'" --gate -5 "$base" "$slow"
says 2 "--per '0'" --per 0 "$base" "$slow"
says 2 "--per '1,2,3'" --per 1,2,3 "$base" "$slow"
says 2 '--on says what --gate judges' --on parse "$base" "$slow"
says 2 '--normalize makes the totals equal' --normalize --gate 5 "$base" "$slow"
says 2 '--per or --normalize' --normalize --per 2 "$base" "$slow"
says 2 '--markdown or --json' --markdown --json "$base" "$slow"
cp "$base/1.pb.gz" "$TMP/empty/1.pb.gz"
head -c 100 "$base/2.pb.gz" >"$TMP/empty/2.pb.gz"
says 1 '2.pb.gz' --gate 5 "$base" "$TMP/empty"

# ---- the workflow that the recipe has, on two checkouts ----

steps() { # NAME: the commands of the workflow's step
    awk -v name="$1" '$0 ~ "- name: " name "$" { is_in = 1; next } is_in && /- (name|uses):/ { exit }
        is_in && !/run:/ { sub(/^ {10}/, ""); print }' "$ROOT/docs/recipes/wallprof-gate.yml"
}

mkdir "$TMP/ci" "$TMP/ci/base" "$TMP/ci/head"
cp "$TMP/job-1.0" "$TMP/ci/base/job"
cp "$TMP/job-1.1" "$TMP/ci/head/job"
ln -s "$tool" "$TMP/ci/wallprof"
export GITHUB_STEP_SUMMARY=$TMP/ci/summary.md JOB=./job PATH=$TMP/ci:$PATH
cd "$TMP/ci" || exit 1
steps run >run.sh
steps compare >compare.sh
grep -q . run.sh compare.sh || fail "the workflow has no steps 'run' and 'compare'"
bash -e run.sh >run.out 2>&1 || complain "the workflow's runs: $(cat run.out)"
bash -e compare.sh
assert_equal "status of the workflow's comparison" "$?" 3
grep -q '^\*\*cpu +.*: failed\*\*$' "$GITHUB_STEP_SUMMARY" || complain "the summary: $(cat "$GITHUB_STEP_SUMMARY")"
exit "$bad"
