#!/bin/bash
# SBCL: threads that its collector stops by signals, timers, time limits, a child, its own profiler's SIGPROF, its checks of masks
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need sbcl; }

run() {
    cat >zoo.lisp <<'END'
(require :sb-sprof)
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(defun conses (n) (let ((l nil)) (dotimes (i n) (push (make-string 100) l) (when (zerop (mod i 1000)) (setf l nil))) n))
(let ((threads (loop for i below 4 collect (let ((i i)) (sb-thread:make-thread (lambda () (conses 200000) (fib (+ 20 i))))))))
  (dotimes (i 5) (sb-ext:gc) (sleep 0.02))
  (format t "~a~%" (mapcar #'sb-thread:join-thread threads)))
(handler-case (sb-ext:with-timeout 0.1 (sleep 10)) (sb-ext:timeout () (format t "timeout~%")))
(let ((rung 0) (timer nil))
  (setf timer (sb-ext:make-timer (lambda () (incf rung))))
  (sb-ext:schedule-timer timer 0.01 :repeat-interval 0.01)
  (loop until (>= rung 5) do (sleep 0.005))
  (sb-ext:unschedule-timer timer)
  (format t "rung~%"))
(let ((child (sb-ext:run-program "/bin/sh" '("-c" "echo child; exit 5") :output *standard-output*)))
  (format t "child ~a~%" (sb-ext:process-exit-code child)))
(sb-sprof:with-profiling (:max-samples 1000 :mode :cpu :sample-interval 0.005) (fib 36))
(handler-case (car (read-from-string "5")) (type-error () (format t "type error~%")))
(sb-ext:exit :code 9)
END
    under sbcl --noinform --lose-on-corruption --no-sysinit --no-userinit --disable-debugger --load zoo.lisp
    echo "status $?"
}

zoo "$@"
