#!/bin/bash
# R: forked workers, a child, a time limit, linear algebra, a collector
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
        limited <- tryCatch({ setTimeLimit(elapsed = 0.3, transient = TRUE); repeat Sys.sleep(0.05) }, error = function(e) "time limit")
        cat(limited, "\n")
        setTimeLimit()
        invisible(gc())
        cat(nchar(paste(sort(sprintf("%05d", sample(50000))), collapse = "")), "\n")
        quit(status = 8)'
    echo "status $?"
}

zoo "$@"
