#!/bin/bash
# What a user reads and installs says what there is: every option and variable stands in a manual page, in
# docs/recording.md and in the completion, and none that does not exist; what is installed works where it is, and goes away again.
# test: quick
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

tool=$BUILD/wallprof
wrapper=$ROOT/scripts/wallprof-run
manuals=$ROOT/docs/man
recording=$ROOT/docs/recording.md
commands=(attach top explain callers waits blame diff view export merge push mcp recover gather ctl) # and run, which is wallprof-run

# ---- what there is, and what is said ----

long_options() {
    grep -oE -- '(^|[^A-Za-z0-9-])--[a-z][a-z-]*' | grep -oE -- '--[a-z-]*[a-z]' | LC_ALL=C sort -u
}

tool_options() { # COMMAND...
    local command
    for command in "$@"; do
        "$tool" "$command" --help | grep -E '^ +-'
        echo --help
    done | long_options
}

wrapper_options() {
    sh "$wrapper" --help-all | grep -E '^  --' | long_options
}

page() { # NAME : as a terminal shows it, without what is shown bold or underlined
    MAN_KEEP_FORMATTING='' MANWIDTH=100 man -E UTF-8 -l -Tutf8 "$manuals/$1" 2>/dev/null |
        sed "s/$(printf '\033')\[[0-9;]*m//g; s/.$(printf '\b')//g"
}

# Every line of FOUND is one of EXPECTED, and the other way round.
same_lines() { # WHAT FOUND EXPECTED
    diff <(printf '%s\n' "$3") <(printf '%s\n' "$2") >"$TMP/diff" ||
        complain "$1 (< is missing, > does not exist): $(grep '^[<>]' "$TMP/diff" | tr '\n' ' ')"
}

in_subset() { # WHAT FOUND ALL
    comm -13 <(printf '%s\n' "$3" | LC_ALL=C sort -u) <(printf '%s\n' "$2" | sed '/^$/d' | LC_ALL=C sort -u) >"$TMP/more"
    [ ! -s "$TMP/more" ] || complain "$1 names what does not exist: $(tr '\n' ' ' <"$TMP/more")"
}

# ---- manual pages ----

check_pages() {
    local manual
    for manual in "$manuals"/*.[17]; do
        man --warnings -E UTF-8 -l -Tutf8 "$manual" 2>"$TMP/warnings" >/dev/null || complain "man cannot show $manual"
        [ ! -s "$TMP/warnings" ] || complain "$manual: $(cat "$TMP/warnings")"
        if type -P mandoc >/dev/null; then
            mandoc -Tlint -Wwarning "$manual" >"$TMP/warnings" || complain "$(cat "$TMP/warnings")"
        fi
    done
    type -P mandoc >/dev/null || leave_out mandoc "it is not installed"
    page wallprof.1 >"$TMP/wallprof.1"
    page wallprof-run.1 >"$TMP/wallprof-run.1"
    page wallprof.7 >"$TMP/wallprof.7"
}

check_page_options() {
    # --colour is another word for --color.
    "$tool" top --colour never "$TMP/a.pb.gz" >/dev/null || complain "there is no --colour"
    same_lines 'options in wallprof(1)' "$(long_options <"$TMP/wallprof.1")" \
        "$({ tool_options "${commands[@]}"; printf '%s\n' --colour --version; } | LC_ALL=C sort -u)"
    same_lines 'options in wallprof-run(1)' "$(long_options <"$TMP/wallprof-run.1")" "$(wrapper_options)"
    local letter
    for letter in $(for command in "${commands[@]}"; do "$tool" "$command" --help; done | grep -oE '^ +-[a-zA-Z],' |
        tr -dc 'a-zA-Z\n' | sort -u); do
        grep -qE -- "^ +-$letter, --" "$TMP/wallprof.1" || complain "wallprof(1) has no -$letter"
    done
}

# ---- variables ----

our_variables() {
    sed -nE 's/^(OPTION|OPTION_RARE|VARIABLE)\(([A-Z_]+),.*/WALLPROF_\2/p' "$ROOT/src/config/options.def" | LC_ALL=C sort -u
}

# The header's codes are none.
named_variables() {
    grep -oE 'WALLPROF_[A-Z_]+' | grep -vxF "$(grep -oE '^ +WALLPROF_[A-Z_]+ = -' "$ROOT/include/wallprof.h" | grep -oE '[A-Z_]{9,}')" |
        LC_ALL=C sort -u
}

check_variables() {
    local file
    [ "$(our_variables | wc -l)" -ge 18 ] || fail "no variables in src/config/options.def"
    same_lines 'variables in wallprof(7)' "$(named_variables <"$TMP/wallprof.7")" "$(our_variables)"
    same_lines 'variables in recording.md' "$(named_variables <"$recording")" "$(our_variables)"
    for file in "$TMP/wallprof.1" "$TMP/wallprof-run.1" "$ROOT/docs/formats.md"; do
        in_subset "$file" "$(named_variables <"$file")" "$(our_variables)"
    done
    for variable in XDG_CACHE_HOME DEBUGINFOD_URLS NO_COLOR BROWSER COLUMNS; do
        grep -q "$variable" "$TMP/wallprof.1" || complain "wallprof(1) says nothing of $variable"
        grep -rq "\"$variable=\?\"" "$ROOT"/src/tool "$ROOT/src/export/tool_export.c" || complain "nothing reads $variable"
    done
}

# What is made of the list is as it says, and a list with another variable or another default is not passed.
# shellcheck disable=SC2016 # backquotes are the page's
check_list() {
    "$ROOT/scripts/options" --check >"$TMP/options" || complain "options.def: $(cat "$TMP/options")"
    mkdir -p "$TMP/copy/src/config" "$TMP/copy/docs"
    cp -r "$ROOT/scripts" "$TMP/copy"
    cp -r "$manuals" "$recording" "$TMP/copy/docs"
    sed 's/"1024"/"512"/' "$ROOT/src/config/options.def" >"$TMP/copy/src/config/options.def"
    echo 'VARIABLE(PLANTED, "only here (none)", (void)config)' >>"$TMP/copy/src/config/options.def"
    ! "$TMP/copy/scripts/options" --check >"$TMP/options" || complain "a planted variable is not found"
    assert_equal 'what is found' "$(sed 's/:* .*//' "$TMP/options" | tr '\n' ' ')" \
        'docs/recording.md docs/man/wallprof-run.1 docs/man/wallprof.7 docs/man/wallprof.7 '
    "$TMP/copy/scripts/options" >"$TMP/options" && complain "wallprof(7) cannot have the planted variable"
    grep -q '^| `WALLPROF_DEPTH` .* | 512 |$' "$TMP/copy/docs/recording.md" || complain "the new default is not in recording.md"
}

# Other programs' options stand there too: ours are those of the table, and of what calls us.
# shellcheck disable=SC2016 # backquotes are the pages'
check_documents() {
    local page
    comm -23 <(wrapper_options) <(long_options <"$recording") >"$TMP/more"
    [ ! -s "$TMP/more" ] || complain "recording.md says nothing of $(tr "\n" " " <"$TMP/more")"
    for page in "$ROOT/README.md" "$ROOT"/docs/*.md "$ROOT"/docs/recipes/*.md; do
        in_subset "${page##*/}" "$(sed -e 's/ -- .*//' -e 's/[$]([^)]*)//' "$page" | grep -oE '(^\| `WALLPROF_[^|]*\|[^|]*|(wallprof|wallprof-run) [^|`#]*)' |
            sed -E 's/ (node|java|docker|python3[.0-9]*) .*//' | long_options)" \
            "$({ wrapper_options && tool_options "${commands[@]}"; } | LC_ALL=C sort -u)"
    done
}

# ---- completion ----

# What is offered for the last word. Words are cut as readline cuts them.
offered() { # WORDS...
    (
        # shellcheck disable=SC2030
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$* COMP_POINT=${#COMP_LINE}
        COMPREPLY=()
        "$(complete -p "$1" | sed 's/.*-F \([^ ]*\).*/\1/')" "$1" "${*: -1}" "${*: -2:1}" 2>/dev/null
        [ "${#COMPREPLY[@]}" -eq 0 ] || printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort -u | tr '\n' ' '
    )
}

offers() { # OFFERED WORDS...
    local wanted=$1
    shift
    assert_equal "offered for '$*'" "$(offered "$@")" "$wanted"
}

check_completion() {
    local command
    # shellcheck source=scripts/completion/wallprof.bash
    . "$ROOT/scripts/completion/wallprof.bash"
    for command in "${commands[@]}"; do
        same_lines "options offered for wallprof $command" "$(offered wallprof "$command" -- | tr ' ' '\n' | sed '/^$/d')" \
            "$(tool_options "$command")"
    done
    same_lines 'options offered for wallprof-run' "$(offered wallprof-run -- | tr ' ' '\n' | sed '/^$/d')" "$(wrapper_options)"
    same_lines 'options offered for wallprof run' "$(offered wallprof run -- | tr ' ' '\n' | sed '/^$/d')" "$(wrapper_options)"
    same_lines 'commands offered' "$(offered wallprof '' | tr ' ' '\n' | grep '^[a-z]')" "$({
        "$tool" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' && echo help
    } | LC_ALL=C sort)"
}

check_completed_words() {
    local formats
    formats=$("$tool" export --help | sed -n 's/.*--format FORMAT *//p' | tr -d , | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ')
    offers "$formats" wallprof export -f ''
    offers "$formats" wallprof-run --format ''
    offers 'pprof,firefox pprof,folded ' wallprof-run --format pprof,f
    offers 'firefox folded ' wallprof-run --format = f
    offers 'cpu offcpu rundelay samples wall ' wallprof top --sort ''
    offers 'cpu offcpu rundelay samples wall ' wallprof top a.store --sort =
    offers 'file function ' wallprof diff -b f
    offers 'always auto ' wallprof top --color a
    offers 'fork,exec ' wallprof-run --follow fork,e
    offers 'start status stop ' wallprof ctl 1 st
    offers '' wallprof top --lines ''
    mkdir "$TMP/files" "$TMP/files/d"
    cd "$TMP/files" || exit 1
    touch a.store b.pb.gz c.pb d.html e.txt 'f g.store'
    offers 'a.store b.pb.gz c.pb d f g.store ' wallprof top ''
    offers 'a.store b.pb.gz c.pb d f g.store ' wallprof diff a.store ''
    offers 'd d.html ' wallprof view d
    offers 'd d.html ' wallprof export a.store -o d
    offers 'e.txt ' wallprof-run --out e
    offers 'e.txt ' wallprof-run --log debug : e
    offers 'a.store b.pb.gz c.pb d d.html e.txt f g.store ' wallprof-run --log debug :
    offers '' wallprof-run --hz =
}

# After wallprof-run's options there is a program, and what follows that is the program's.
check_completed_program() {
    mkdir -p "$TMP/bin"
    printf '#!/bin/sh\n' >"$TMP/bin/wallprof-test-program"
    chmod +x "$TMP/bin/wallprof-test-program"
    PATH=$TMP/bin:$PATH
    local before
    for before in '' '--quiet' '--hz 50' '--hz = 50 --top' '--log debug : x.log' '--out a = b --' '--'; do
        # shellcheck disable=SC2086 # words
        offers 'wallprof-test-program ' wallprof-run $before wallprof-test-pr
        # shellcheck disable=SC2086
        offers 'e.txt ' wallprof-run $before wallprof-test-program e
    done
    offers 'e.txt ' wallprof-run ./no-such-program e
    offers 'wallprof-test-program ' wallprof record --hz = 50 wallprof-test-pr
    offers 'name none ' wallprof run --labels n
    offers '' wallprof-run ./no-such-program --top
}

# In a shell of its own.
check_all_completion() { # [BASH-COMPLETION]
    bad=0
    if [ $# -gt 0 ]; then
        set +u
        # shellcheck disable=SC1090 # another package's
        . "$1"
    fi
    rm -rf "$TMP/files"
    check_completion
    check_completed_words
    check_completed_program
    exit "$bad"
}

# ---- installed ----

# The caller's make is none of this one's business.
make_in() { # TARGET DESTDIR PREFIX VARIABLES...
    local target=$1 destination=$2 prefix=$3
    shift 3
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s -C "$ROOT" "$target" DESTDIR="$destination" PREFIX="$prefix" \
        VARIANT="${BUILD##*/}" "$@" >"$TMP/make.out" 2>&1 || fail "make $target: $(cat "$TMP/make.out")"
}

check_installed() { # DIRECTORY PREFIX
    local at=$1$2 file
    for file in bin/wallprof bin/wallprof-run lib/libwallprof.so include/wallprof.h share/man/man1/wallprof.1 share/man/man1/wallprof-run.1 \
        share/man/man7/wallprof.7 share/bash-completion/completions/wallprof; do
        [ -s "$at/$file" ] || complain "$file is not installed"
    done
    cmp -s "$at/share/bash-completion/completions/wallprof-run" "$ROOT/scripts/completion/wallprof.bash" ||
        complain "completion for wallprof-run is not installed"
    for file in 1:wallprof 1:wallprof-run 7:wallprof; do
        MANPATH=$at/share/man man "${file%%:*}" "${file#*:}" 2>/dev/null | grep NAME >/dev/null || complain "man $file"
    done
    run_installed "$at"
}

# The library's place is no part of the path that make install wrote: DESTDIR is not PREFIX.
run_installed() { # PREFIX
    (cd "$TMP" && "$1/bin/wallprof-run" --out "$TMP/x.pb.gz" --log info --top "$TARGETS/target_tool_export") \
        >"$TMP/run.out" 2>"$TMP/run.err"
    assert_equal 'status of what was run' "$?" 7
    grep -q FUNCTION "$TMP/run.err" || complain "no report: $(cat "$TMP/run.err")"
    grep -q 'did not write' "$TMP/run.err" && complain "the tool did not write it: $(cat "$TMP/run.err")"
    "$PPROF" -raw "$TMP/x.pb.gz" 2>/dev/null | grep 'target_tool_export.c:[1-9]' >/dev/null || complain "the library has not found the tool"
    assert_equal 'version' "$("$1/bin/wallprof-run" --version)" "wallprof-run $("$1/bin/wallprof" --version | sed 's/.* //')"
}

check_install() {
    make_in install "$TMP/dest" /opt/wallprof
    check_installed "$TMP/dest" /opt/wallprof
    make_in uninstall "$TMP/dest" /opt/wallprof
    assert_equal 'left behind' "$(find "$TMP/dest" ! -type d)" ''
    make_in install "$TMP/other" /usr LIBDIR=/usr/lib/machine MANDIR=/man
    [ -s "$TMP/other/man/man7/wallprof.7" ] || complain "MANDIR is not kept to"
    [ -s "$TMP/other/usr/lib/machine/libwallprof.so" ] || complain "LIBDIR is not kept to"
}

need man make
[ -x "$tool" ] || skip "there is no tool for this machine"
profile_run "$TMP/a.pb.gz" "$TARGETS/target_tool_export" >/dev/null
check_pages
check_page_options
check_variables
check_list
check_documents
(check_all_completion) || complain 'completion'
package=/usr/share/bash-completion/bash_completion
if [ -r "$package" ]; then
    (check_all_completion "$package") || complain 'completion with bash-completion'
else
    leave_out bash-completion "it is not installed"
fi
check_install
# shellcheck disable=SC2031 # complain's, here
exit "$bad"
