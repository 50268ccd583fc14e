#!/bin/bash
# R: linear algebra, forked workers, children, a sleep, a condition, a collector
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() { need Rscript; }

run() {
    under Rscript --vanilla -e '
        set.seed(1)
        m <- matrix(runif(250000), 500)
        cat(dim(solve(m)), round(sum(m), 3), "\n")
        cat(unlist(parallel::mclapply(1:6, function(i) { x <- 0; for (j in 1:200000) x <- (x * 31 + j) %% 1000003; x + i }, mc.cores = 3)), "\n")
        cat(system("exit 3"), system("echo child", intern = TRUE), "\n")
        cat(tryCatch({ Sys.sleep(0.2); log(-1) }, warning = function(w) "a warning"), "\n")
        invisible(gc())
        cat(nchar(paste(sort(sprintf("%05d", sample(50000))), collapse = "")), "\n")
        quit(status = 8)'
    echo "status $?"
}

zoo "$@"
