#!/bin/bash
# LuaJIT: traces, foreign functions, coroutines, a child by a pipe
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need luajit; }

run() {
    under luajit -e '
        local ffi = require("ffi")
        ffi.cdef[[ int usleep(unsigned); int getppid(void); size_t strlen(const char *); void qsort(void *, size_t, size_t, int (*)(const int *, const int *)); ]]
        local sum = 0
        for i = 1, 5e7 do sum = (sum * 31 + i) % 1000003 end
        print(sum, tonumber(ffi.C.strlen("hello")))
        local numbers = ffi.new("int[5]", {3, 1, 2, 5, 4})
        local less = ffi.cast("int (*)(const int *, const int *)", function(a, b) return a[0] - b[0] end)
        for _ = 1, 2000 do ffi.C.qsort(numbers, 5, 4, less) end
        print(numbers[0], numbers[4])
        local co = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(i) end end)
        print(co(), co(), co())
        for _ = 1, 20 do ffi.C.usleep(5000) end
        local pipe = io.popen("echo from a pipe")
        print(pipe:read("*l"), pipe:close())
        print(pcall(function() local function deep(n) return 1 + deep(n + 1) end return deep(0) end) == false)
        os.exit(7)'
    echo "status $?"
}

zoo "$@"
