#!/bin/bash
# Pages of the HTML format in a real browser, from their files, without a network: what they say is held against the
# same profiles written as pprof files, and they are used by mouse and by keyboard (html_page.mjs). playwright-core drives
# the browser and axe-core judges how accessible the pages are; both are fetched from npm once, into build/npm.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

PLAYWRIGHT=playwright-core@1.65.1 AXE=axe-core@4.14.1
MODULES=$ROOT/build/npm/node_modules

has_modules() {
    [ -f "$MODULES/playwright-core/index.js" ] && [ -f "$MODULES/axe-core/axe.min.js" ]
}

fetch_modules() {
    type -P npm >/dev/null || skip "npm is not installed"
    npm install --prefix "$ROOT/build/npm" --no-save --no-audit --no-fund --ignore-scripts "$PLAYWRIGHT" "$AXE" \
        >"$TMP/npm.log" 2>&1 || skip "npm cannot fetch $PLAYWRIGHT and $AXE: $(tail -n 1 "$TMP/npm.log")"
}

need node chromium python3
has_modules || fetch_modules
"$TARGETS/html_pages" "$TMP" || fail "html_pages"
profile_run "$TMP/run.html" "$PYTHON" -c 'import threading, time
threading.Thread(target=lambda: sum(range(10000000))).start()
time.sleep(0.3)' || fail "a profiled program failed"
[ -s "$TMP/run.html" ] || fail "there is no page of a profiled program"
CHROMIUM=$(type -P chromium) node "$TESTS/html_page.mjs" "$MODULES" "$TMP" || fail "a page is not what it should be"
