#!/bin/bash
# Chromium: headless without a sandbox: a zygote, a page with a script and a worker, and its document printed
# shellcheck source=tests/zoo/lib.sh
. "$(dirname "$0")/lib.sh"

prepare() {
    need chromium
    cat >"$ZOO_MADE/page.html" <<'END'
<!doctype html><title>zoo</title><p id=a>waiting</p><script>
let sum = 0;
for (let i = 0; i < 3e6; i++) sum += i % 7;
document.getElementById('a').textContent = 'sum ' + sum;
</script>
END
}

run() {
    under chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage --user-data-dir="$TMPDIR/chromium" \
        --virtual-time-budget=2000 --dump-dom "file://$ZOO_MADE/page.html"
    echo "status $?"
}

# It complains about D-Bus and GPUs, with pids and times, and its script about memory.
filter() { grep -vE '^\[[0-9:/.]+:[A-Z]+:|^(/usr/bin/chromium: |Gtk|libva|Fontconfig|MESA|dconf)|^$'; true; }

zoo "$@"
