#!/bin/bash
# In directories that others may write to, nothing of ours is written where they would have it: what they plant under our
# names, before or while we write, is replaced or refused, and what it leads to stays as it is. What we write nobody else
# can read. In a program with raised privileges the library does nothing.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

is_emulated && skip "it is about other users, not about machines"
[ "$(id -u)" -eq 0 ] || skip "root is needed to be two other users"
need setpriv "$PYTHON"

victim=54321 attacker=54322
runs=${SECURITY_RUNS:-200}
players=
on_exit() {
    # shellcheck disable=SC2086,SC2317 # a list; called at the end
    [ -z "$players" ] || kill -KILL $players 2>/dev/null
}

# Both users find the programs and their own directories; $open is everybody's, and not sticky, so that the kernel protects
# nothing there; $sticky is as /tmp.
chmod 755 "$TMP"
mkdir "$TMP/bin" "$TMP/open" "$TMP/sticky" "$TMP/private" "$TMP/loot" "$TMP/home"
open=$TMP/open sticky=$TMP/sticky
cp "$LIBRARY" "$TARGETS/target_tool_export" "$TMP/bin/"
[ ! -x "$BUILD/wallprof" ] || cp "$BUILD/wallprof" "$TMP/bin/"
cp "$(type -P true)" "$TMP/bin/short"
chmod 777 "$open"
chmod 1777 "$sticky"
chown "$victim" "$TMP/private" "$TMP/home"
chown "$attacker" "$TMP/loot"
chmod 700 "$TMP/private" "$TMP/home"
secret=$TMP/private/secret
words='what is nobody else'"'"'s business'
echo "$words" >"$secret"
chown "$victim" "$secret"
chmod 600 "$secret"

as() { # USER COMMAND...
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups -- "$@"
}

# The victim's run of a program, with variables; what it says is $TMP/said.
run() { # VARIABLE=VALUE... PROGRAM
    local program=${*: -1}
    timeout "$HANG_S" setpriv --reuid "$victim" --regid "$victim" --clear-groups -- env HOME="$TMP/home" "${@:1:$#-1}" \
        "LD_PRELOAD=$TMP/bin/libwallprof.so" "$TMP/bin/$program" >"$TMP/out" 2>"$TMP/said"
    local status=$?
    [ "$status" -eq 0 ] || [ "$program" != short ] || complain "$*: status $status: $(cat "$TMP/said")"
    [ "$status" -ne 124 ] || complain "$*: it hangs"
}

secret_is_safe() { # WHEN
    [ "$(cat "$secret")" = "$words" ] || { complain "$1: a file that is none of its business has been written to" && echo "$words" >"$secret"; }
    assert_equal "mode of the secret, $1" "$(stat -c '%a %u' "$secret")" "600 $victim"
    [ ! -e "$TMP/loot/loot" ] || [ ! -s "$TMP/loot/loot" ] || complain "$1: others have got what is written"
}

is_ours() { # FILE WHEN
    [[ -f $1 && ! -L $1 && -s $1 ]] || complain "$2: there is no $1: $(ls -l "$1" 2>&1)"
    assert_equal "mode and owner of $1, $2" "$(stat -c '%a %u' "$1" 2>&1)" "600 $victim"
}

nothing_left() { # DIRECTORY
    assert_equal "left in $1" "$(find "$1" -name '.wallprof-*')" ''
}

# ---- modes ----

for umask in 000 077 777; do
    for program in short target_tool_export; do # written by the library; by the tool
        (umask "$umask" && run "WALLPROF_OUT=$TMP/home/m.store,$TMP/home/m.html,$TMP/home/m.pb.gz" WALLPROF_LOG="info:$TMP/home/m.log" \
            "$program")
        for file in m.store m.html m.pb.gz; do
            is_ours "$TMP/home/$file" "umask $umask, $program"
        done
        assert_equal "rights of others to the log" "$(($(stat -c '0%a' "$TMP/home/m.log") & 077))" 0
        rm -f "$TMP/home/"m.*
    done
done

# ---- what was planted before ----

plant() { # NAME KIND DIRECTORY
    rm -rf "${3:?}/$1"
    rm -f "$TMP/loot/loot"
    case $2 in
    link) as "$attacker" ln -s "$secret" "$3/$1" ;;
    loot) as "$attacker" touch "$TMP/loot/loot" && as "$attacker" chmod 666 "$TMP/loot/loot" &&
        as "$attacker" ln -s "$TMP/loot/loot" "$3/$1" ;;
    dangling) as "$attacker" ln -s "$TMP/private/new" "$3/$1" ;;
    hard) ln "$secret" "$3/$1" ;; # as without protected_hardlinks
    fifo) as "$attacker" mkfifo -m 666 "$3/$1" ;;
    file) as "$attacker" touch "$3/$1" && as "$attacker" chmod 666 "$3/$1" ;;
    esac
}

for kind in link loot dangling hard fifo file; do
    for program in short target_tool_export; do
        plant app.pb.gz "$kind" "$open"
        run "WALLPROF_OUT=$open/app.pb.gz" "$program"
        is_ours "$open/app.pb.gz" "a $kind was planted"
        secret_is_safe "a $kind was planted"
        plant app.pb.gz "$kind" "$sticky"
        run "WALLPROF_OUT=$sticky/app.pb.gz" "$program"
        if [ "$kind" = hard ]; then # it is the victim's: so it can be replaced
            is_ours "$sticky/app.pb.gz" "a $kind was planted where only its owner can remove it"
        else
            grep -q 'cannot be written to' "$TMP/said" || complain "a $kind that cannot be replaced is not said: $(cat "$TMP/said")"
        fi
        secret_is_safe "a $kind was planted where only its owner can remove it"
        nothing_left "$sticky"
    done
    plant app.log "$kind" "$open"
    run "WALLPROF_OUT=$TMP/home/app.pb.gz" "WALLPROF_LOG=debug:$open/app.log" short
    grep -q 'cannot write messages to' "$TMP/said" || complain "a log that is a planted $kind is not refused: $(cat "$TMP/said")"
    secret_is_safe "a $kind was planted for the log"
    [ "$kind" != file ] || [ ! -s "$open/app.log" ] || complain "what is said goes into somebody else's file"
    [ ! -e "$TMP/private/new" ] || complain "a file was made where a link of somebody else's leads"
    rm -f "$open/app.log"
done

# What is the user's own is followed, there too.
as "$victim" touch "$TMP/home/mine"
as "$victim" ln -s "$TMP/home/mine" "$open/own.pb.gz"
as "$victim" ln -s "$TMP/home/mine.log" "$open/own.log"
as "$victim" touch "$TMP/home/mine.log"
run "WALLPROF_OUT=$open/own.pb.gz" "WALLPROF_LOG=debug:$open/own.log" short
[[ -L $open/own.pb.gz && -s $TMP/home/mine ]] || complain "a link of the user's own is not followed"
[ -s "$TMP/home/mine.log" ] || complain "a link of the user's own to the log is not followed: $(cat "$TMP/said")"
run "WALLPROF_OUT=$TMP/home/x.pb.gz" "WALLPROF_LOG=debug:$open/new.log" short
run "WALLPROF_OUT=$TMP/home/x.pb.gz" "WALLPROF_LOG=debug:$open/new.log" short
is_ours "$open/new.log" 'a log of our own'
[ "$(grep -c 'settings\|profile written' "$open/new.log")" -ge 2 ] || complain "a log is not added to: $(cat "$open/new.log")"

# A directory that somebody else's link leads to, where anybody can make links; the user's own link.
for parent in "$open" "$sticky"; do
    as "$attacker" ln -s "$TMP/private" "$parent/way"
    as "$victim" ln -s "$TMP/home" "$parent/own-way"
    for program in short target_tool_export; do
        run "WALLPROF_OUT=$parent/way/app.pb.gz" "WALLPROF_LOG=debug:$parent/way/log" "$program"
        grep -q 'cannot be written' "$TMP/said" || complain "a directory by somebody else's link is not refused: $(cat "$TMP/said")"
        run "WALLPROF_OUT=$parent/own-way/way.pb.gz" "$program"
        is_ours "$TMP/home/way.pb.gz" "by a link of one's own"
        rm -f "$TMP/home/way.pb.gz"
    done
    assert_equal 'what is in the private directory' "$(ls "$TMP/private")" secret
done

# ---- while we write ----

play() { # NAME
    "$PYTHON" "$TESTS/lib/planted.py" "$attacker" "$open" "$1" "$secret" "$TMP/loot/loot" >"$TMP/player.$1" &
    players="$players $!"
    local tries
    for ((tries = 0; tries < 600; tries++)); do
        ! grep -q ready "$TMP/player.$1" || return 0
        sleep 0.05
    done
    fail "nobody plays the other part"
}

rm -f "$TMP/loot/loot"
as "$attacker" touch "$TMP/loot/loot"
as "$attacker" chmod 666 "$TMP/loot/loot"
play race.pb.gz
play race.log
for ((i = 0; i < runs; i++)); do
    run "WALLPROF_OUT=$open/race.pb.gz" "WALLPROF_LOG=debug:$open/race.log" short
done
secret_is_safe "$runs runs against somebody who changes names"
nothing_left "$open"
# shellcheck disable=SC2086 # a list
kill -KILL $players
wait 2>/dev/null
players=

# A directory that becomes a link to another while it is written to: what appears is whole, and in the one or the other.
mkdir "$open/here" "$open/there"
chmod 777 "$open/here" "$open/there"
"$PYTHON" -c '
import os, sys
os.chdir(sys.argv[1])
os.setuid(int(sys.argv[2]))
while True:
    os.rename("here", "aside")
    os.symlink("there", "here")
    os.unlink("here")
    os.rename("aside", "here")' "$open" "$attacker" &
players=$!
written_here() {
    [ -n "$(find "$open/here/" "$open/aside/" -name '*.pb.gz' 2>/dev/null)" ]
}
for ((i = 0; i < 2000; i++)); do
    [ "$i" -lt $((runs / 4)) ] || ! written_here || break
    run "WALLPROF_OUT=$open/here/$i.pb.gz" short
done
kill -KILL "$players"
wait 2>/dev/null
players=
written_here || complain "a directory that comes and goes gets nothing"
find "$open" -path '*/*ere/*.pb.gz' -o -path '*/aside/*.pb.gz' | while read -r file; do
    gzip -t "$file" || echo "$file"
done >"$TMP/broken"
assert_equal 'files that are not whole' "$(cat "$TMP/broken")" ''
assert_equal 'where only a link of somebody else leads' "$(ls "$open/there")" ''
nothing_left "$open"

# ---- the tool ----

if [ -x "$TMP/bin/wallprof" ]; then
    run "WALLPROF_OUT=$TMP/home/a.store" target_tool_export
    # Names are not kept, or believed, where others can write.
    mkdir "$open/cache"
    chown "$attacker" "$open/cache"
    chmod 777 "$open/cache"
    as "$victim" env WALLPROF_CACHE="$open/cache" "$TMP/bin/wallprof" top "$TMP/home/a.store" >/dev/null || complain "top"
    assert_equal "what is kept in somebody else's directory" "$(ls -A "$open/cache")" ''
    as "$victim" env WALLPROF_CACHE="$TMP/home/cache" "$TMP/bin/wallprof" top "$TMP/home/a.store" >/dev/null || complain "top"
    assert_equal 'mode of the cache' "$(stat -c %a "$TMP/home/cache")" 700
    page=$(as "$victim" env TMPDIR="$sticky" XDG_RUNTIME_DIR= "$TMP/bin/wallprof" view --print "$TMP/home/a.store")
    is_ours "$page" 'a page'
    assert_equal 'mode of its directory' "$(stat -c %a "$(dirname "$page")")" 700
fi

# ---- raised privileges ----

# What a program finds of us in itself: our handler as the kernel tells it, as our hooks would not show it.
cat >"$TMP/bin/look.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
int main(void)
{
    char line[512];
    int threads = 0, is_loaded = 0;
    unsigned long caught = 0;
    FILE *status = fopen("/proc/thread-self/status", "r"), *maps = fopen("/proc/thread-self/maps", "r");
    while (status && fgets(line, sizeof line, status)) {
        sscanf(line, "Threads: %d", &threads);
        sscanf(line, "SigCgt: %lx", &caught);
    }
    while (maps && fgets(line, sizeof line, maps))
        is_loaded |= strstr(line, "libwallprof.so") != NULL;
    int handlers = __builtin_popcountl(caught & 0x7fffffff); /* the next two are the C library's */
    nanosleep(&(struct timespec){.tv_nsec = 150000000}, NULL);
    printf("secure %lu, loaded %d, threads %d, handlers %d\n", getauxval(AT_SECURE), is_loaded, threads, handlers);
    return 0;
}
END
"${CC:-cc}" -o "$TMP/bin/plain" "$TMP/bin/look.c" || fail "no program to look with"
mkdir "$TMP/raised"
chmod 777 "$TMP/raised"

# By /etc/ld.so.preload, the way into such programs, in an /etc of our own; as the victim.
look() { # PROGRAM OPTIONS OF setpriv...
    local program=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    (cd "$TMP/raised" && unshare --mount --propagation private sh -c '
        cp /etc/ld.so.cache "$1" && mount -t tmpfs none /etc && cp "$1" /etc/ && echo "$2" >/etc/ld.so.preload || exit 9
        shift 2
        export WALLPROF_OUT=/dev/null # of what leads there
        exec "$@"' - "$TMP/bin/ld.so.cache" "$TMP/bin/libwallprof.so" \
        setpriv --reuid "$victim" --regid "$victim" --clear-groups "$@" -- \
        env "WALLPROF_OUT=$TMP/raised/%n.pb.gz" "WALLPROF_LOG=debug:$TMP/raised/log" "$TMP/bin/$program" 2>&1)
}

said=$(look plain)
if [ "$said" = 'secure 0, loaded 1, threads 2, handlers 1' ]; then
    is_ours "$TMP/raised/plain.pb.gz" 'a program without privileges'
    assert_equal 'what is written of it, and of the tool that writes it' "$(cd "$TMP/raised" && echo *)" 'log plain.pb.gz'
    for kind in user group capability; do
        cp "$TMP/bin/plain" "$TMP/bin/$kind"
    done
    chmod 4755 "$TMP/bin/user"
    chmod 2755 "$TMP/bin/group"
    ! type -P setcap >/dev/null || setcap cap_net_raw+ep "$TMP/bin/capability" || rm "$TMP/bin/capability"
    for kind in user group capability; do
        rm -f "$TMP/raised"/*
        said=$(look "$kind")
        case $said in
        'secure 0,'*) leave_out "$kind" "the system does not raise privileges here: $said" ;;
        *) assert_equal "in a program with raised privileges ($kind)" "$said" 'secure 1, loaded 1, threads 1, handlers 0' ;;
        esac
        [ "${said#secure 1}" = "$said" ] || assert_equal "what it leaves behind ($kind)" "$(ls -A "$TMP/raised")" ''
    done
    # Capabilities that the user has anyhow are not raised by the program.
    said=$(look plain --inh-caps +net_raw --ambient-caps +net_raw)
    assert_equal 'with ambient capabilities' "$said" 'secure 0, loaded 1, threads 2, handlers 1'
    is_ours "$TMP/raised/plain.pb.gz" 'a program with ambient capabilities'
else
    leave_out raised-privileges "no /etc of one's own can be had here: $said"
fi
exit "$bad"
