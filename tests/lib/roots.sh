# shellcheck shell=bash
# Sourced by tests that also run programs of another Debian, in a root of it (scripts/debian-root): versions that this machine does
# not have. Such a program sees $ROOT, $BUILD and $TMP where they are.

# Prints the root's directory; or fails. Only long runs make one, which takes 2 minutes and the archive. Others use one that a
# test has made with these packages.
other_debian() { # SUITE PACKAGE...
    local root=$ROOT/build/roots/$1 package
    [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null || return 1
    if is_long; then
        mkdir -p "$ROOT/build/roots"
        "$ROOT/scripts/debian-root" "$1" "$root" "${@:2}" >&2
    fi
    for package in "" "${@:2}"; do
        grep -qF " $package" "$root.complete" 2>/dev/null || return 1
    done
    echo "$root"
}

# With mounts of its own, which end with it.
run_in() { # ROOT PROGRAM ARGUMENTS...
    local directory
    for directory in "$ROOT" "$BUILD" "$TMP"; do
        mkdir -p "$1$directory"
    done
    # shellcheck disable=SC2016 # the inner shell's
    unshare --mount sh -c '
        root=$1
        for directory in /proc /dev "$2" "$3" "$4"; do
            mount --bind "$directory" "$root$directory" || exit 126
        done
        shift 4
        exec chroot "$root" "$@"' sh "$1" "$ROOT" "$BUILD" "$TMP" "${@:2}"
}

# Of profile_run, for a program of another Debian. "/" is this one.
profile_run_in() { # ROOT FILE PROGRAM ARGUMENTS...
    if [ "$1" = / ]; then
        profile_run "${@:2}"
    else
        run_in "$1" env "WALLPROF_OUT=$2" "LD_PRELOAD=$LIBRARY" "${@:3}"
    fi
}
