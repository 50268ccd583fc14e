#!/bin/bash
# Guile: a just-in-time compiler, continuations, threads, children, a signal handler
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need guile; }

run() {
    GUILE_AUTO_COMPILE=0 under guile --no-auto-compile -c '
        (use-modules (ice-9 threads) (ice-9 popen) (ice-9 rdelim) (srfi srfi-1))
        (define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
        (define seen 0)
        (sigaction SIGUSR1 (lambda (n) (set! seen (+ seen 1))))
        (let ((pid (primitive-fork)))
          (if (zero? pid) (primitive-exit 7))
          (format #t "child ~a~%" (status:exit-val (cdr (waitpid pid)))))
        (format #t "~a~%" (call/cc (lambda (k) (for-each (lambda (x) (if (> x 5) (k x))) (iota 10)) 0)))
        (format #t "~a~%" (par-map fib (list 20 21 22 23)))
        (kill (getpid) SIGUSR1)
        (let loop () (if (zero? seen) (begin (usleep 1000) (loop))))
        (format #t "seen ~a~%" seen)
        (let* ((port (open-input-pipe "echo from a pipe")) (line (read-line port)))
          (format #t "~a ~a~%" line (status:exit-val (close-pipe port))))
        (gc)
        (exit 8)'
    echo "status $?"
}

zoo "$@"
