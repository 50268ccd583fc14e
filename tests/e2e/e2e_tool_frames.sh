#!/bin/bash
# Functions, inlined calls, files and lines are those of addr2line, wherever the debug information is.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need g++ addr2line readelf objcopy
TOOL=$BUILD/tests/oracle/tool_frames
[ -x "$TOOL" ] || skip "$TOOL is not built"
unset DEBUGINFOD_URLS
export LC_ALL=C

judge() { # WHAT PROGRAM [DEBUG FILE]
    local what=$1
    shift
    local options=()
    [ "$1" != --llvm ] || { options=(--llvm) && shift; }
    "$PYTHON" "$TESTS/judges/judge_frames.py" "${options[@]}" "$TOOL" "$@" >"$TMP/judgement" 2>&1 || complain "$what differs"
    echo "$what: $(cat "$TMP/judgement")"
}

compile() { # OUTPUT OPTIONS...
    local output=$1
    shift
    g++ -std=gnu++17 -O2 "$@" -o "$output" "$TESTS/targets/frames_inlined.cc" || fail "g++ $* fails"
}

cd "$TMP" || exit 1
compile v4 -gdwarf-4 -Wl,--build-id
compile v5 -gdwarf-5 -Wl,--build-id
objcopy --compress-debug-sections --remove-section=.note.gnu.build-id v5 zipped
judge 'DWARF 4' v4
judge 'DWARF 5' v5
judge 'compressed, without a build-id' zipped

mkdir -p beside/.debug
objcopy --only-keep-debug v5 v5.debug
objcopy --strip-all --add-gnu-debuglink=v5.debug v5 linked
judge 'by debug link' linked v5
cp linked beside/linked
mv v5.debug beside/.debug
judge 'by debug link in .debug' beside/linked v5

# The symbols of what was stripped, packed into the program: names, no lines.
if type -P xz >/dev/null; then
    objcopy --strip-debug v5 symbols
    xz -k symbols
    objcopy --strip-all --add-section .gnu_debugdata=symbols.xz v5 packed
    address=$(nm v5 | sed -n 's/^0*\([0-9a-f]*\) [tT] main$/\1/p')
    found=$(echo "$address" | "$TOOL" packed "$(readelf -nW v5 | sed -n 's/.*Build ID: //p')" | tail -n 2)
    assert_equal 'a packed symbol' "$found" "main"$'\n'"??:0"
fi

# From a server, if one is named; nobody is asked otherwise.
ask_server() {
    objcopy --strip-all v5 bare
    local id port
    id=$(readelf -nW bare | sed -n 's/.*Build ID: //p')
    mkdir -p "server/buildid/$id"
    objcopy --only-keep-debug v5 "server/buildid/$id/debuginfo"
    (cd server && exec "$PYTHON" -u -m http.server 0 --bind 127.0.0.1) >server.log 2>&1 &
    server=$!
    for _ in $(seq 100); do
        port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' server.log)
        [ -z "$port" ] || break
        sleep 0.1
    done
    "$TOOL" bare "$id" <<<1000 >"$TMP/unasked"
    ! grep -q buildid server.log || complain 'a server was asked without DEBUGINFOD_URLS'
    export DEBUGINFOD_URLS=http://127.0.0.1:$port/ DEBUGINFOD_CACHE_PATH=$TMP/served
    judge 'by a server' bare v5
    unset DEBUGINFOD_URLS
    grep -q "GET /buildid/$id/debuginfo" server.log || complain 'the server was not asked'
}
# shellcheck disable=SC2317 # called by e2e.sh
on_exit() {
    [ -z "$server" ] || kill "$server"
}
server=
if ldconfig -p | grep libdebuginfod >/dev/null; then
    ask_server
fi

# addr2line 2.40 reads no .dwo files; the code is the same.
if is_long; then
    compile split -gdwarf-5 -gsplit-dwarf -Wl,--build-id
    judge 'split' split v5
fi

# And it misses inlined calls in what clang makes of DWARF 5.
if is_long && type -P llvm-symbolizer clang++ >/dev/null &&
    clang++ -std=gnu++17 -O2 -gdwarf-5 -o clang "$TESTS/targets/frames_inlined.cc" 2>/dev/null; then
    judge 'clang' --llvm clang
fi

if type -P dwz >/dev/null; then
    cp v4 a
    cp v4 b
    dwz -m "$TMP/common" a b && judge 'shared by dwz' a v4
fi

if type -P rustc >/dev/null && rustc -O -g -o rust "$TESTS/targets/frames_inlined.rs" 2>/dev/null; then
    judge 'Rust' rust
fi
libc=/lib/x86_64-linux-gnu/libc.so.6
id=$(readelf -nW $libc 2>/dev/null | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
if [ -f "$debug" ]; then
    judge 'the C library, by build-id' $libc "$debug"
fi
exit "$bad"
