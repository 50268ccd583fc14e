#!/bin/bash
# Short lives are represented evenly: what they do first has its share of the time, as what they do last has, and their
# sums are exact. See target_lives.c and src/account/short_lives.h.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

# Of N samples a function with the share p of the time has pN, give or take 4 sqrt(p(1 - p)N). Two in ten more are
# allowed for what a crowded machine does: there a sample may find a thread later than its tick.
judge() { # NAME
    awk '
        FILENAME == ARGV[1] && $1 == "function" { truth[$2] = $3; all += $3 }
        FILENAME == ARGV[1] && $1 == "lives" { lives = $2 }
        FILENAME == ARGV[2] && $1 == "wall" { wall[$4] += $3 }
        FILENAME == ARGV[2] && $1 == "samples" { samples[$4] += $3 }
        END {
            n = samples["first_half"] + samples["second_half"]
            p = truth["first_half"] / all
            found = wall["first_half"] / (wall["first_half"] + wall["second_half"])
            allowed = 4 * sqrt(p * (1 - p) / n) + 0.2 * p
            unseen = wall["[unsampled]"] / lives
            printf "%d samples: first_half %.3f of the time, truth %.3f, allowed +-%.3f; %.3f [unsampled]\n",
                n, found, p, allowed, unseen
            exit !(n >= 100 && found - p <= allowed && p - found <= allowed && unseen < 0.05)
        }' "$TMP/$1.truth" "$TMP/$1.functions" || complain "$1: not its truth"
}

# All lives together, and what is outside of what they measure themselves. Each thread appears.
judge_sums() { # NAME FILE COUNT PART OF THEM THAT IS THERE
    read_pprof threads "$2" | awk -v count="$3" -v part="$4" -v lives="$(awk '$1 == "lives" { print $2 }' "$TMP/$1.truth")" '
        $2 == "brief" { wall += $6; cpu += $4; offcpu += $5; threads++ }
        END {
            printf "%d threads, %.6f s, truth %.6f s\n", threads, wall / 1e9, lives / 1e9
            exit !(threads >= part * count && threads <= count && wall >= part * lives && cpu + offcpu == wall)
        }' || complain "$1: its time is not conserved"
}

lives() { # NAME ARGUMENTS OF target_lives...
    local name=$1 file=$TMP/$1.pb.gz
    shift
    echo "== $name: $*"
    WALLPROF_OVERHEAD=off profile_run "$file" "$TARGETS/target_lives" "$@" >"$TMP/$name.truth" 2>"$TMP/$name.err" ||
        complain "$name: exit status $?"
    [ ! -s "$TMP/$name.err" ] || complain "$name: on stderr: $(cat "$TMP/$name.err")"
    (check_profile "$file") || complain "$name: its profile is not good"
    read_pprof functions "$file" >"$TMP/$name.functions"
    judge "$name"
    judge_sums "$name" "$file" "$1" 1
}

# What a killed process has left is settled by the tool.
killed() { # NAME ARGUMENTS OF target_lives...
    local name=$1 status=0
    shift
    echo "== $name: $* killed"
    mkdir "$TMP/stores"
    WALLPROF_STORE=$TMP/stores/ WALLPROF_OVERHEAD=off profile_run "$TMP/none.pb.gz" "$TARGETS/target_lives" "$@" killed \
        >"$TMP/$name.truth" 2>/dev/null || status=$?
    assert_equal "$name: status" "$status" 137
    "$BUILD/wallprof" recover -o "$TMP/$name.pb.gz" "$TMP"/stores/*.store || complain "$name: not recovered"
    (check_profile "$TMP/$name.pb.gz") || complain "$name: its profile is not good"
    read_pprof functions "$TMP/$name.pb.gz" >"$TMP/$name.functions"
    judge "$name"
    judge_sums "$name" "$TMP/$name.pb.gz" "$1" 0.5 # those that ended after the last tick are missing
}

lives one-ms 6000 8 1000 asleep
lives five-ms 2000 8 5000 asleep
lives twenty-ms 500 8 20000 asleep
lives mixed 1500 4 5000 mixed
killed killed 2000 8 5000 asleep
exit "$bad"
