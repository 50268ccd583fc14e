# Completion for wallprof and wallprof-run, for bash 4.2 or later: installed for bash-completion, or sourced. Without
# bash-completion, the arguments of a program that wallprof-run starts are completed as files.
# shellcheck shell=bash

_wallprof_words() { # WORDS
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Directories are always offered, because a file may be in one.
_wallprof_files() { # ENDING... : files with these, or all
    local ending
    compopt -o filenames 2>/dev/null
    if [ $# -eq 0 ]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        return
    fi
    mapfile -t COMPREPLY < <(
        compgen -d -- "$cur"
        for ending in "$@"; do
            compgen -f -X "!*$ending" -- "$cur"
        done | LC_ALL=C sort -u
    )
}

# The last of a list that is separated by commas.
_wallprof_list() { # WORDS
    local before=
    [[ $cur != *,* ]] || before=${cur%,*},
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${cur#"$before"}")
}

# Sets cur to the present word and option to the word before it. Readline cuts --option=word into three.
_wallprof_here() {
    cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $cur == = ]]; then
        cur=
    elif [[ $cur == : ]]; then
        cur='' option=:
    elif [[ $option == = && $COMP_CWORD -gt 1 ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
}

# ---- wallprof ----

_wallprof_report_value() {
    case $option in
    -s | --sort) _wallprof_words 'wall cpu offcpu rundelay samples' ;;
    -b | --by) _wallprof_words 'function leaf line file module thread process label wait on holder' ;;
    -o | --output) _wallprof_files ;;
    --color | --colour) _wallprof_words 'auto always never' ;;
    -n | --lines | --interval | --count | -w | --width | -t | --thread | -p | --process | -l | --label | -f | --focus | -i | --ignore) ;;
    *) return 1 ;;
    esac
}

_wallprof_export_value() {
    case $option in
    -f | --format) _wallprof_words 'pprof callgrind folded html perfetto firefox store' ;;
    -o | --output) _wallprof_files ;;
    *) return 1 ;;
    esac
}

_wallprof_merge_value() {
    case $option in
    -f | --format) _wallprof_words 'pprof callgrind folded html' ;;
    -o | --output | -T | --files-from) _wallprof_files ;;
    -l | --labels) _wallprof_words 'id name none' ;;
    *) return 1 ;;
    esac
}

_wallprof_push_value() {
    case $option in
    -t | --to) _wallprof_words 'pyroscope parca' ;;
    -P | --pyroscope-api) _wallprof_words 'ingest push' ;;
    -F | --follow) _wallprof_files .pb.gz ;;
    -C | --credentials | -A | --cacert) _wallprof_files ;;
    -n | --name | -l | --label | -m | --spool-max) ;;
    *) return 1 ;;
    esac
}

# A process that is recorded, then what to do, then a file.
_wallprof_ctl() {
    local words=() word
    for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        [[ $word == -* ]] || words+=("$word")
    done
    case $option,${#words[@]} in
    -t,* | --timeout,*) ;;
    -o,* | --output,*) _wallprof_files ;;
    *,0) _wallprof_words "$(grep -slx wallprof /proc/[0-9]*/task/[0-9]*/comm | cut -d/ -f3 | sort -un | tr '\n' ' ')" ;;
    *,1) _wallprof_words 'start stop dump status' ;;
    *,2) [[ ${words[1]} != dump ]] || _wallprof_files ;;
    esac
}

_wallprof_arguments() { # COMMAND
    local report='--lines --sort --cum --by --idle --thread --process --label --focus --ignore --width --json --no-error --output --color --help'
    local push='--to --name --label --follow --spool-max --remove --pyroscope-api --credentials --cacert --verbose --help'
    case $1,$cur in
    top,-*) _wallprof_report_value || _wallprof_words "$report --stacks --interval --count" ;;
    diff,-*) _wallprof_report_value || _wallprof_words "$report --gate --on --per --normalize --markdown" ;;
    callers,-*) _wallprof_words '--callees --lines --idle --json --help' ;;
    waits,-*) _wallprof_words '--lines --group --dot --output --json --help' ;;
    blame,-*) _wallprof_words '--lines --json --output --help' ;;
    attach,-*) _wallprof_words '--output --duration --hz --overhead --follow --top --quiet --verbose --help' ;;
    attach,*) [[ $option == -o || $option == --output ]] && _wallprof_files ;;
    explain,-*) _wallprof_words '--lines --json --output --help' ;;
    view,-*) _wallprof_words '--output --print --serve --help' ;;
    merge,-*) _wallprof_merge_value || _wallprof_words '--output --format --files-from --labels --strict --verbose --help' ;;
    merge,*) _wallprof_merge_value || _wallprof_files .store .pb.gz .pb ;;
    export,-*) _wallprof_export_value || _wallprof_words '--output --format --waits --verbose --help' ;;
    recover,-*) _wallprof_export_value || _wallprof_words '--output --keep --help' ;;
    gather,-*) _wallprof_words '--merge --lock --pid --status --also --help' ;;
    mcp,-*) _wallprof_words '--help' ;;
    ctl,-*) _wallprof_words '--output --timeout --help' ;;
    ctl,*) _wallprof_ctl ;;
    top,* | explain,* | callers,* | waits,* | blame,* | diff,*) _wallprof_report_value || _wallprof_files .store .pb.gz .pb ;;
    view,*)
        case $option in
        -o | --output) _wallprof_files .html ;;
        *) _wallprof_files .store .pb.gz .pb .html ;;
        esac
        ;;
    export,*) _wallprof_export_value || _wallprof_files .store .pb.gz .pb ;;
    recover,*) _wallprof_export_value || _wallprof_files .store ;;
    gather,*) _wallprof_files ;;
    push,-*) _wallprof_push_value || _wallprof_words "$push" ;;
    push,*) _wallprof_push_value || _wallprof_files .store .pb.gz .pb ;;
    esac
}

_wallprof() {
    local cur option
    COMPREPLY=()
    _wallprof_here
    if [ "$COMP_CWORD" -eq 1 ]; then
        _wallprof_words 'run record attach top explain callers waits blame diff view export merge push mcp recover gather ctl help --help --version'
    elif [[ ${COMP_WORDS[1]} == run || ${COMP_WORDS[1]} == record ]]; then
        _wallprof_run_from 2
    else
        _wallprof_arguments "${COMP_WORDS[1]}"
    fi
}

# ---- wallprof-run ----

# options.def: begin (make options)
_wallprof_run_values() {
    case $option in
    --overhead) _wallprof_words 'off' ;;
    --labels) _wallprof_words 'none name id' ;;
    --follow) _wallprof_list 'fork exec none' ;;
    --timeline) _wallprof_words '0 1 pprof' ;;
    --log) _wallprof_words 'off error warning info debug' ;;
    --observe) _wallprof_words 'auto signal' ;;
    --scripts) _wallprof_words 'off merged all' ;;
    --signal) _wallprof_words 'PROF USR1 USR2 VTALRM URG RTMIN RTMAX' ;;
    --hide) _wallprof_words '0 1' ;;
    --args) _wallprof_words 'program redacted all' ;;
    --seccomp) _wallprof_words 'auto strict' ;;
    --start) _wallprof_words '0 1' ;;
    --control-signal) _wallprof_words 'USR1 USR2 URG RTMIN RTMAX' ;;
    esac
}

_wallprof_run_options='--out --hz --overhead --labels --follow --timeline --log --threads --depth --mem --timeline-mem --observe --scripts --signal --hide --args --seccomp --store --tool --start --delay --duration --control-signal --interval-dump --interval-keep --seed'
# options.def: end

_wallprof_run_value() {
    case $option in
    -o | --out | --tool | --store | :) _wallprof_files ;;
    --format) _wallprof_list 'pprof callgrind folded html perfetto firefox store' ;;
    --runtime-names) _wallprof_words 'auto off' ;;
    *) _wallprof_run_values ;;
    esac
}

# Sets program to the index of the program's name among the words from FIRST on. If the present word is an option's value,
# the name will come after it.
_wallprof_run_find_program() { # FIRST
    program=$1
    while [ "$program" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[program]} in
        --) program=$((program + 1)) && return ;;
        --quiet | --top | --merge | --external | -h | --help | --help-all | --version) program=$((program + 1)) ;;
        -o?*) program=$((program + 1)) ;;
        -o | --*)
            program=$((program + 2))
            [[ ${COMP_WORDS[program - 1]} != = ]] || program=$((program + 1))
            ;;
        = | :) program=$((program + 2)) ;; # what a value goes on with
        *) return ;;
        esac
    done
}

_wallprof_run_program() {
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$program"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$program"
    elif [ "$program" -eq "$COMP_CWORD" ]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -c -d -- "$cur" | LC_ALL=C sort -u)
    else
        _wallprof_files
    fi
}

_wallprof_run() {
    local cur option
    COMPREPLY=()
    _wallprof_here
    _wallprof_run_from 1
}

_wallprof_run_from() { # FIRST
    local program
    _wallprof_run_find_program "$1"
    if [ "$program" -gt "$COMP_CWORD" ] || [[ $program -eq $COMP_CWORD && ${COMP_WORDS[program]} == [=:] ]]; then
        _wallprof_run_value
    elif [[ $program -eq $COMP_CWORD && $cur == -* && ${COMP_WORDS[COMP_CWORD - 1]} != -- ]]; then
        _wallprof_words "$_wallprof_run_options --format --runtime-names --top --merge --external --quiet --help --help-all --version"
    else
        _wallprof_run_program
    fi
}

complete -F _wallprof wallprof
complete -F _wallprof_run wallprof-run
