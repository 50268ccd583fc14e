#!/bin/bash
# Every command of the README, as it stands there: those after "$", and those of the table "I want to". Each ends well, says
# nothing of an error, and leaves what its line promises. Small programs stand in for the reader's, bubblewrap for docker.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
is_emulated && skip "the tool is for the machine it is built on"
[ "$BUILD" -ef "$ROOT/build/release" ] || skip "make install installs another build"
"$BUILD/wallprof" run --help >"$TMP/help" 2>&1 || skip "this wallprof has no command run"

# A comment at a command's end is the reader's.
commands() {
    awk -F'`' '/^    \$ / { sub(/^    \$ /, ""); sub(/ +# .*/, ""); print }
        /^\| .* \| `[^`]*` \| \[/ { print $2 }' "$ROOT/README.md"
}

# What the commands name: programs, sources, and a container's directory.
make_work() {
    mkdir -p "$TMP/home" "$TMP/work/demo" "$TMP/work/profiles" "$TMP/bin"
    cp "$ROOT/demo/ledger.c" "$TMP/work/demo/"
    cd "$TMP/work" || exit 1
    "${CC:-cc}" -O2 -g -pthread -o server demo/ledger.c || fail "demo/ledger.c does not compile"
    cp server job
    cp server rank
    echo 'import time; time.sleep(0.2)' >app.py
    echo 'setTimeout(() => {}, 200)' >app.js
    echo 'public class App { public static void main(String[] a) throws Exception { Thread.sleep(200); } }' >App.java
    # shellcheck disable=SC2016 # make's
    printf 'all: a.o b.o\na.o b.o: demo/ledger.c\n\t$(CC) -c -o $@ $<\n' >Makefile
    ! type -P javac >/dev/null || javac App.java || fail "App.java does not compile"
}

# docker run -v FROM:TO[:ro] -e NAME=VALUE... IMAGE: the image is this machine's, and its program the ledger.
make_docker() {
    cat >"$TMP/bin/docker" <<END
#!/bin/bash
[ "\$1" = run ] || exit 2
shift
options=(--tmpfs / --ro-bind /usr /usr --ro-bind /etc /etc --proc /proc --dev /dev --unshare-pid --as-pid-1
    --ro-bind "$TMP/work/server" /app/ledger)
for link in /bin /lib /lib64; do
    options+=(--symlink "usr\$link" "\$link")
done
while [ \$# -gt 1 ]; do
    IFS=: read -r from to mode <<<"\$2"
    case \$1 in
    -v) options+=("--\${mode:+ro-}bind" "\$from" "\$to") ;;
    -e) options+=(--setenv "\${2%%=*}" "\${2#*=}") ;;
    esac
    shift 2
done
exec bwrap "\${options[@]}" /app/ledger
END
    chmod +x "$TMP/bin/docker"
    bwrap --ro-bind / / true 2>/dev/null || rm "$TMP/bin/docker"
}

# The program without which a command cannot be tried here, if there is one.
missing_of() { # COMMAND
    local word program=''
    for word in $1; do
        case $word in
        docker) [ -x "$TMP/bin/docker" ] || program=bwrap ;;
        java | node | mpirun) type -P "$word" >/dev/null || program=$word ;;
        esac
    done
    echo "$program"
}

# What is attached to runs already.
start_subject() { # COMMAND
    case $1 in *attach*) ;; *) return ;; esac
    (cd "$TMP/work" && exec ./server >/dev/null) &
    subject=$!
    until [ "$(readlink "/proc/$subject/exe")" = "$(realpath "$TMP/work/server")" ]; do sleep 0.01; done
}

# make's commands are for the repository, all others for the reader's directory.
run_command() { # COMMAND
    local directory=$TMP/work
    case $1 in make*) directory=$ROOT ;; esac
    (cd "$directory" && env -u MAKEFLAGS -u MAKELEVEL -u XDG_RUNTIME_DIR TMPDIR="$TMP" HOME="$TMP/home" BROWSER=true \
        PATH="$TMP/bin:$TMP/home/.local/bin:$PATH" \
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        bash -c "$1" </dev/null) >"$TMP/out" 2>"$TMP/err"
}

# What a line names with --out is there afterwards; %n and its like stand for anything.
check_files() { # COMMAND
    local name
    while read -r name; do
        [ -n "$(find "$TMP/work" -path "$TMP/work/${name//%[a-z]/*}" -size +0)" ] || complain "$1: there is no $name"
    done < <(grep -oE -- '(--out|-o) [^ ]+' <<<"$1" | sed 's/.* //')
    case $1 in
    *docker*) [ -s "$TMP/work/profiles/wallprof.1.pb.gz" ] || complain "$1: there is no profile: $(ls "$TMP/work/profiles")" ;;
    *--top*) grep -h ' of thread time in ' "$TMP/out" "$TMP/err" >/dev/null || complain "$1: there is no report: $(cat "$TMP/err")" ;;
    esac
}

check_command() { # COMMAND
    local missing
    missing=$(missing_of "$1")
    if [ -n "$missing" ]; then
        leave_out "$missing" "it is not installed, so this was not tried: $1"
        return
    fi
    start_subject "$1"
    run_command "${1/%PID/${subject-}}" || complain "$1: status $?: $(tail -n 5 "$TMP/err")"
    grep '^wallprof' "$TMP/err" | grep -v '^wallprof: \(and \|added for names\|profile in\)' && complain "$1: says so"
    check_files "$1"
    [ -f "$TMP/work/after.pb.gz" ] || [ ! -f "$TMP/work/before.pb.gz" ] || cp "$TMP/work/before.pb.gz" "$TMP/work/after.pb.gz"
}

# Runtimes leave their lists of names, by process, and every process has left a profile: wallprof.PID.pb.gz.
# shellcheck disable=SC2317 # e2e.sh calls it
on_exit() {
    find "$TMP/work" -name 'wallprof.*.pb.gz' 2>/dev/null | sed 's|.*/wallprof.\([0-9]*\)[.].*|/tmp/perf-\1.map|' | xargs -r rm -f
}

make_work
make_docker
mapfile -t list < <(commands)
[ "${#list[@]}" -ge 15 ] || fail "${#list[@]} commands are found in the README"
for command in "${list[@]}"; do
    echo "\$ $command"
    check_command "$command"
done
[ "$(find "$TMP/work" -name 'wallprof.[01].*.pb.gz' | wc -l)" -eq 2 ] || [ -n "$(missing_of mpirun)" ] || complain "not every rank has a profile"

# What the README says of its first example, and how its second picture is drawn.
assert_function "$TMP/work/ledger.pb.gz" post_entry
run_command 'wallprof run --quiet --hz 1000 --out ledger.json.gz ./ledger' || fail "no recording with a timeline: $(cat "$TMP/err")"
"$ROOT/scripts/pictures" "$TMP/work/ledger.json.gz" "$TMP/timeline.svg" || fail "no picture is drawn"
for words in replica teller 'waits for the lock' 'waits for the network'; do
    grep -F ">$words<" "$TMP/timeline.svg" >/dev/null || complain "the picture has no '$words'"
done
exit "$bad"
