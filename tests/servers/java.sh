#!/bin/bash
# java under wrk: a pool of 50 threads that answer, allocate, contend for a lock and wait; 20 that take work from a queue;
# the collector's and the compiler's own. Compiled methods have the names that the JVM writes down as it ends.
# shellcheck source=tests/servers/lib.sh
. "$(dirname "$0")/lib.sh"
need wrk java javac

port=$(free_port)
javac -d "$TMP" "$SERVERS/Server.java" >"$TMP/javac" 2>&1 || fail "javac: $(cat "$TMP/javac")"
server=(java -Xmx128m -Dsun.net.httpserver.nodelay=true -XX:+UseG1GC -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp "$TMP" Server "$port")
status=143 # of a JVM that was told to end by SIGTERM; it does so by exit

on_exit() {
    stop_watch
    remove_perf_maps
}

is_ready() {
    connects "$port"
}

load() {
    load_by_wrk "$port" /text /lock /park /file
}

expect 'VM Thread' 'pthread_cond_timedwait < .* < VMThread::run.* < .* < start_thread' 50
expect 'answer-.*' 'pthread_cond_(wait|timedwait) < Parker::park.* < Unsafe_Park' 5
expect 'queue-.*' 'pthread_cond_wait < Parker::park.* < Unsafe_Park' 50
expect 'HTTP-Dispatcher' 'epoll_wait < .*EPoll.*' 2
expect 'G1 Service' 'pthread_cond_(wait|timedwait) < .* < G1ServiceThread::run_service.* < .* < start_thread' 50
expect 'GC Thread#.*' '.*(sem_wait|PosixSemaphore::wait).* < GangWorker::loop.* < .* < start_thread' 50
expect 'C[12] CompilerThre' 'CompileBroker::compiler_thread_loop.* < .* < start_thread' 50
expect 'C2 CompilerThre' 'C2Compiler::compile_method.* < CompileBroker::.* < .* < start_thread' 0.01
run_pairs
