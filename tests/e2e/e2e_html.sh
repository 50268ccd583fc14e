#!/bin/bash
# Pages of the HTML format in a real browser, from their files, without a network: what they say is held against the
# same profiles written as pprof files, and they are used by mouse and by keyboard (html_page.mjs). playwright-core drives
# the browser and axe-core judges how accessible the pages are; both are fetched from npm once, into build/npm.
# test: long
# shellcheck source=tests/lib/e2e.sh
. "$(dirname "$0")/../lib/e2e.sh"

need node chromium python3
MODULES=$(npm_readers) || skip "$MODULES"
"$BUILD/tests/judges/html_pages" "$TMP" || fail "html_pages"
profile_run "$TMP/run.html" "$PYTHON" -c 'import threading, time
threading.Thread(target=lambda: sum(range(10000000))).start()
time.sleep(0.3)' || fail "a profiled program failed"
# The same recording for Perfetto says when each state began and ended.
profile_run "$TMP/timed-run.html,$TMP/timed-run.perfetto.json" "$PYTHON" -c 'import threading, time
threading.Thread(target=lambda: (time.sleep(0.2), sum(range(5000000)))).start()
sum(range(5000000))
time.sleep(0.3)' || fail "a profiled program failed"
"$BUILD/wallprof" run --quiet --merge --timeline 1 --out "$TMP/family-run.html" "$PYTHON" -c 'import os
child = os.fork()
sum(range(3000000))
if child:
    os.waitpid(child, 0)' || fail "a program of two processes failed"
for file in run.html timed-run.html timed-run.perfetto.json family-run.html; do
    [ -s "$TMP/$file" ] || fail "there is no $file of a profiled program"
done
CHROMIUM=$(type -P chromium) node "$TESTS/judges/html_page.mjs" "$MODULES" "$TMP" || fail "a page is not what it should be"
