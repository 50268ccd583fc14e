#!/bin/bash
# A Go program with C in it is not hurt: goroutines run on a few KiB of heap, where a handler has no room. There is no
# profile to be looked at: Go ends by a system call of its own.
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"
need go gcc

cat >"$TMP/main.go" <<'SOURCE'
package main

/*
#include <stdint.h>
__attribute__((noinline)) static uint64_t spin_in_c(uint64_t rounds)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++)
        __asm__ volatile("" : "+r"(sum) : "r"(i));
    return sum;
}
*/
import "C"

import (
	"fmt"
	"sort"
)

//go:noinline
func count(rounds int) int {
	seen := map[string]int{}
	for i := 0; i < rounds; i++ {
		seen[fmt.Sprint("key", i%5003)]++
	}
	var keys []string
	for key := range seen {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return len(keys)
}

func main() {
	done := make(chan int)
	for i := 0; i < 8; i++ {
		go func() { done <- count(300000) + int(C.spin_in_c(100000000)) }()
	}
	sum := 0
	for i := 0; i < 8; i++ {
		sum += <-done
	}
	fmt.Println(sum)
}
SOURCE
(cd "$TMP" && HOME=$TMP GOCACHE=$TMP/cache GOFLAGS=-mod=mod GO111MODULE=off CGO_ENABLED=1 go build -o main main.go) ||
    skip "go does not build a program with C in it"
ldd "$TMP/main" >/dev/null || skip "go has linked the program statically"
for round in 1 2 3; do
    WALLPROF_HZ=1000 profile_run "$TMP/go.pb.gz" "$TMP/main" >"$TMP/stdout" 2>"$TMP/stderr"
    assert_equal "exit status of round $round" "$?" 0
    assert_equal "stdout and stderr" "$(cat "$TMP/stdout" "$TMP/stderr")" 40024
done
