/*
 * html_page.mjs: the strip of time and the map of threads. timed.html is tests/lib/timed_profile.h: 2.4 s in slices of 10 ms. What
 * a range has in a real program is held against the same recording written for Perfetto.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {MEASURES, equal, check, totalsOf, plain, open, close, textOf, frame, focused, press, stateOf, says, search, tableIsOf, checkAccess, chips, pages, WAIT_MS} from './html_browser.mjs';

const MS = 1000000;
const FILE = 'timed', MERGED = 'timed-family';

/* Milliseconds of each measure. */
async function totalsAre(what, page, expected) {
  for (const [measure, ms] of Object.entries(expected))
    equal(`${what}: ${measure}`, await page.getAttribute(`#total-${measure}`, 'value'), String(measure === 'samples' ? ms : ms * MS));
}

const rangeIs = (page, text) => page.waitForFunction((range) => (new URLSearchParams(location.hash.slice(1)).get('range') ?? '') === range, text, {timeout: WAIT_MS});

/* The middle of a slice, on the screen. */
async function placeOf(page, selector, slice) {
  const {x, y, width, height} = await page.locator(selector).boundingBox();
  return [x + width * (slice + 0.5) / 240, y + height / 2];
}

async function drag(page, selector, from, to) {
  await page.mouse.move(...await placeOf(page, selector, from));
  await page.mouse.down();
  await page.mouse.move(...await placeOf(page, selector, to), {steps: 4});
  await page.mouse.up();
}

/* How much of the strip is of a kind, in whole slices of its height. */
const heights = (paths) => paths.flatMap((path) => [...path.getAttribute('d').matchAll(/h1v([\d.]+)/g)]).reduce((sum, [, height]) => sum + Number(height), 0);
const barsOf = async (page, kind) => await page.locator(`#strip .spent-${kind}`).evaluateAll(heights) / 100;

/* The colour and the strength of a slice of the map. */
async function colourInMap(page, row, slice) {
  const [x, y] = await placeOf(page, `.map-row:nth-of-type(${row}) .slices`, slice);
  return page.evaluate(([left, top]) => {
    const element = document.elementFromPoint(left, top);
    return element.localName === 'path' ? `${element.getAttribute('class').replace('spent-', '')} ${element.getAttribute('fill-opacity')}` : 'nothing';
  }, [x, y]);
}

const rowsOf = async (page) => (await page.locator('.map-row button').allTextContents()).join();

export async function withoutATimelineThereIsNoStrip() {
  for (const name of ['small', 'compared']) {
    const page = await open(name, '#range=10-20&map=shown');
    check(`${name}: no strip`, !await page.isVisible('#time') && !await page.locator('#strip *').count());
    equal(`${name}: no range`, await chips(page), '');
    await page.locator('.frame[tabindex="0"]').focus();
    await press(page, 't');
    check(`${name}: no map`, !await page.isVisible('#map'));
    await close(name, page);
  }
}

export async function theStripAddsUp() {
  const page = await open(FILE, '#idle=shown');
  const totals = totalsOf(FILE);
  for (const measure of MEASURES)
    equal(`the whole run: ${measure}`, await page.getAttribute(`#total-${measure}`, 'value'), String(totals[measure]));
  /* Of three threads and 240 slices. */
  const expected = {running: 239, lock: 120, sleep: 120, file: 1, idle: 240};
  for (const [kind, slices] of Object.entries(expected))
    equal(`bars of ${kind}`, (3 * await barsOf(page, kind)).toFixed(1), slices.toFixed(1));
  equal('in words', plain(await page.getAttribute('#strip', 'aria-valuetext')), 'the whole run, 2.40 s: idle 33.33 %, running 33.19 %, lock 16.67 %, sleep 16.67 %');
  await page.uncheck('#idle');
  equal('idle time is hidden', await barsOf(page, 'idle'), 0);
  equal('two threads have all of the height', (2 * await barsOf(page, 'running')).toFixed(1), '239.0');
  await page.selectOption('#thread', {label: 'worker (8002)'});
  equal('of one thread', await barsOf(page, 'lock'), 120);
  equal('of one thread, running', await barsOf(page, 'running'), 119);
  equal('what it does not do', await barsOf(page, 'sleep'), 0);
  await close(FILE, page);
}

export async function rangesAddUp() {
  const totals = totalsOf(FILE);
  const sums = Object.fromEntries(MEASURES.map((measure) => [measure, 0n]));
  for (const range of ['0-7', '7-120', '120-239', '239-240']) {
    const page = await open(FILE, `#idle=shown&range=${range}`);
    for (const measure of MEASURES)
      sums[measure] += BigInt(await page.getAttribute(`#total-${measure}`, 'value'));
    await close(FILE, page);
  }
  for (const measure of MEASURES)
    equal(`all ranges: ${measure}`, sums[measure], totals[measure]);
}

export async function aDragChoosesARange() {
  const page = await open(FILE);
  await drag(page, '#strip', 60, 179);
  await rangeIs(page, '60-180');
  await totalsAre('a range', page, {wall: 2400, cpu: 1200, offcpu: 1200, samples: 240});
  equal('its chip', plain(await chips(page)), '0.60 s to 1.80 s×');
  equal('what is hidden of it', await textOf(page, '#hidden'), 'Hidden: 1.200 s, 33.33 % of Wall clock, in which threads wait for work.');
  equal('the legend', (await page.locator('#legend li').allTextContents()).map(plain).sort().join(), 'lock 600.0 ms,running 1.200 s,sleep 600.0 ms');
  await frame(page, 'crunch').hover();
  equal('details', (await page.locator('#values tr').allTextContents()).map(plain)[1], 'CPU1.200 s1.200 s100 %');
  await tableIsOf(page, 'Wall clock: 3 of 3', ' functions');
  equal('the table', (await page.locator('#rows tr').evaluateAll((all) => all.map((tr) => `${tr.querySelector('th').textContent} ${tr.cells[0].textContent}`))).map(plain).sort().join(),
        'crunch 1.200 s,nanosleep 600.0 ms,pthread_mutex_lock 600.0 ms');
  await search(page, 'fsync');
  await says('what is not in it', page, '#found', 'Nothing matches “fsync”.');
  await search(page, 'mutex');
  await says('what is', page, '#found', '1 function matches: 600.0 ms, 25.00 % of Wall clock.');
  await search(page, '');
  await drag(page, '#strip', 239, 120); /* from right to left */
  await rangeIs(page, '120-240');
  await totalsAre('the second half', page, {wall: 2400, cpu: 1190, offcpu: 1210, samples: 240});
  await page.goBack();
  await rangeIs(page, '60-180');
  await says('after going back', page, '#total-cpu', '1.200 s');
  await page.click('#chips button');
  await rangeIs(page, '');
  await totalsAre('without its chip', page, {wall: 4800, cpu: 2390});
  await drag(page, '#strip', 10, 20);
  await rangeIs(page, '10-21');
  await page.mouse.click(...await placeOf(page, '#strip', 100));
  await rangeIs(page, '');
  check('no range is marked', !await page.locator('.ranged').count());
  await close(FILE, page);
}

export async function aFingerChoosesARange() {
  const page = await open(FILE, '', {viewport: {width: 390, height: 844}, hasTouch: true, isMobile: true});
  const session = await page.context().newCDPSession(page);
  const touch = async (type, slice) => {
    const [x, y] = await placeOf(page, '#strip', slice);
    await session.send('Input.dispatchTouchEvent', {type, touchPoints: type === 'touchEnd' ? [] : [{x, y}]});
  };
  await touch('touchStart', 60);
  for (const slice of [80, 100, 119])
    await touch('touchMove', slice);
  await touch('touchEnd', 119);
  await page.waitForFunction(() => location.hash.includes('range='), null, {timeout: WAIT_MS});
  await totalsAre('by a finger', page, {cpu: 600, wall: 1200});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(`nothing sticks out of a phone: ${wide}`, wide <= 390);
  const {y} = await page.locator('#scroll').boundingBox();
  check(`what is above the graph of a phone: ${y}`, y < 844 / 2);
  await checkAccess('a range on a phone', page);
  await page.tap('#show-map');
  check('the map is narrow too', await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
  await checkAccess('the map on a phone', page);
  await close(FILE, page);
}

export async function keysChooseARange() {
  const page = await open(FILE);
  await page.focus('#strip');
  for (const [key, range] of [['ArrowRight', '0-12'], ['ArrowRight', '1-13'], ['Shift+ArrowRight', '1-14'], ['PageUp', '11-24'], ['End', '227-240'],
                              ['Shift+ArrowLeft', '227-239'], ['ArrowLeft', '226-238'], ['Home', '0-12'], ['Shift+End', '']]) {
    await press(page, key);
    await rangeIs(page, range);
  }
  await press(page, 'ArrowLeft');
  await rangeIs(page, '228-240');
  equal('the first one', await page.getAttribute('#strip', 'aria-valuenow'), '228');
  equal('in words', plain(await page.getAttribute('#strip', 'aria-valuetext')), '2.28 s to 2.40 s: sleep 50.00 %, running 45.83 %, file 4.17 %');
  await press(page, 'Escape');
  await rangeIs(page, '');
  equal('the focus stays', await focused(page), 'Range of time');
  /* In the graph Escape shows all of it first. */
  await press(page, 'ArrowRight');
  await rangeIs(page, '0-12');
  await frame(page, 'crunch').click();
  await press(page, 'Escape');
  equal('zoomed out', await textOf(page, '#zoomed'), '');
  equal('and still in the range', (await stateOf(page)).range, '0-12');
  await press(page, 'Escape');
  await rangeIs(page, '');
  await close(FILE, page);
}

export async function aLinkSaysTheRange() {
  const first = await open(FILE);
  await drag(first, '#strip', 30, 89);
  await rangeIs(first, '30-90');
  await first.click('#show-map');
  await first.selectOption('#thread', {label: 'app (8001)'});
  const hash = await first.evaluate(() => location.hash), status = await textOf(first, '.status');
  await close(FILE, first);
  const second = await open(FILE, hash);
  equal('by a link', await textOf(second, '.status'), status);
  await totalsAre('by a link', second, {wall: 600, cpu: 600, offcpu: 0, samples: 60});
  check('with its map', await second.isVisible('#map'));
  await second.click('#reset');
  await rangeIs(second, '');
  await close(FILE, second);
  for (const odd of ['9-3', '5-5', '0-240', '0-241', '-1-5', '1', 'x', '01-5']) {
    const page = await open(FILE, `#range=${encodeURIComponent(odd)}`);
    equal(`range ${odd}`, await chips(page), '');
    await close(FILE, page);
  }
}

export async function theMapSaysWhatThreadsDo() {
  const page = await open(FILE);
  check('hidden at first', !await page.isVisible('#map'));
  await page.click('#show-map');
  equal('it is said to be shown', await page.getAttribute('#show-map', 'aria-expanded'), 'true');
  equal('the busiest come first', await rowsOf(page), 'app (8001),worker (8002),pool (8003)');
  const colours = [[1, 0, 'running 1'], [1, 119, 'running 1'], [1, 120, 'sleep 1'], [1, 239, 'sleep 1'], [2, 60, 'lock 1'], [2, 180, 'running 1'],
                   [2, 239, 'file 1'], [3, 60, 'nothing']];
  for (const [row, slice, colour] of colours)
    equal(`row ${row}, slice ${slice}`, await colourInMap(page, row, slice), colour);
  equal('a row in words', plain(await page.getAttribute('.map-row:nth-of-type(2) .slices', 'aria-label')), 'worker (8002): lock 50.00 %, running 49.58 %');
  await page.check('#idle');
  equal('idle time', await colourInMap(page, 3, 60), 'idle 1');
  await page.mouse.move(...await placeOf(page, '.map-row:nth-of-type(1) .slices', 150));
  equal('what is pointed at', await textOf(page, '#moment'), 'app (8001), 1.50 s to 1.51 s: sleep 100 %');
  await page.mouse.click(...await placeOf(page, '.map-row:nth-of-type(2) .slices', 150));
  equal('a click chooses the thread', await page.inputValue('#thread'), '2');
  await totalsAre('of one thread', page, {cpu: 1190, wall: 2400});
  equal('and its row is pressed', await page.getAttribute('.map-row:nth-of-type(2) button', 'aria-pressed'), 'true');
  await drag(page, '.map-row:nth-of-type(1) .slices', 60, 129);
  await rangeIs(page, '60-130');
  await totalsAre('of one thread and a range', page, {cpu: 100, wall: 700});
  await page.click('.map-row:nth-of-type(2) button');
  equal('once more takes it back', (await stateOf(page)).thread, undefined);
  await close(FILE, page);
}

export async function theMapHasKeys() {
  const page = await open(FILE);
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 't');
  check('t shows it', await page.isVisible('#map'));
  equal('one stop for the tab key', await page.locator('#map button[tabindex="0"]').count(), 1);
  await page.focus('#map button[tabindex="0"]');
  await press(page, 'ArrowDown');
  equal('down', await page.evaluate(() => document.activeElement.textContent), 'worker (8002)');
  await press(page, 'ArrowRight');
  equal('what is there', await textOf(page, '#moment'), 'worker (8002), 0.01 s to 0.02 s: lock 100 %');
  equal('it is read aloud', await page.getAttribute('#moment', 'aria-live'), 'polite');
  await press(page, 'Enter');
  equal('Enter chooses it', (await stateOf(page)).thread, '2');
  await press(page, 'Shift+ArrowRight');
  await rangeIs(page, '1-3');
  await press(page, 'Escape');
  await rangeIs(page, '');
  await press(page, 'End');
  equal('to the end', await textOf(page, '#moment'), 'worker (8002), 2.39 s to 2.40 s: file 100 %');
  await close(FILE, page);
}

export async function processesHaveTheirRows() {
  const page = await open(MERGED, '#map=shown&range=0-120');
  equal('processes', (await page.locator('#map h2').allTextContents()).join(), 'app (8001),db (9001)');
  equal('their threads', await rowsOf(page), 'app (8001),worker (8002),pool (8003)');
  await totalsAre('a range of all of them', page, {cpu: 1200, wall: 2400});
  await close(MERGED, page);
}

export async function aRunOfProcessesHasItsTime() {
  const page = await open('family-run', '#map=shown&idle=shown');
  equal('its processes', await page.locator('#map h2').count(), 2);
  const cpuOf = async (hash) => {
    const part = await open('family-run', `#idle=shown${hash}`);
    const cpu = BigInt(await part.getAttribute('#total-cpu', 'value'));
    await close('family-run', part);
    return cpu;
  };
  const whole = await cpuOf('');
  check('it has time', whole > 0n);
  equal('its parts', await cpuOf('&range=0-100') + await cpuOf('&range=100-240'), whole);
  await close('family-run', page);
}

export async function timeIsForEverybody() {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(MERGED, '#map=shown', {colorScheme});
    await checkAccess(`time, ${colorScheme}`, page);
    await drag(page, '#strip', 60, 179);
    await rangeIs(page, '60-180');
    await page.click('.map-row button');
    await checkAccess(`a range, ${colorScheme}`, page);
    for (const width of [1600, 1080, 800, 600, 340]) {
      await page.setViewportSize({width, height: 800});
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      check(`nothing sticks out of ${width}: ${wide}`, wide <= width);
    }
    await close(MERGED, page);
  }
}

/* ---- two recordings ---- */

const COMPARED = 'timed-compared'; /* BEFORE took twice as long for the same */

const rangesAre = (page, before, after) => page.waitForFunction((ranges) => {
  const said = new URLSearchParams(location.hash.slice(1));
  return ['range-before', 'range'].every((key, i) => (said.get(key) ?? '') === ranges[i]);
}, [before, after], {timeout: WAIT_MS});

export async function bothRecordingsHaveAStrip() {
  const page = await open(COMPARED);
  equal('sections', (await page.locator('.time:visible').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')))).join(), 'Before: Time,After: Time');
  equal('beginnings', (await page.locator('.axis > span:first-child').allTextContents()).map(plain).join(), 'Before: 0.00 s,After: 0.00 s');
  equal('ends', (await page.locator('.axis > span:last-child').allTextContents()).map(plain).join(), '4.80 s,2.40 s');
  equal('one scale: the bars before', (2 * await page.locator('#strip-before .spent-running').evaluateAll(heights) / 100).toFixed(1), '239.0');
  equal('a button for both maps', await page.locator('.axis button:visible').count(), 1);
  equal('before in words', plain(await page.getAttribute('#strip-before', 'aria-valuetext')), 'the whole run, 4.80 s: running 49.79 %, lock 25.00 %, sleep 25.00 %');
  await frame(page, 'crunch').hover();
  equal('the whole runs', await rowOf(page, 'CPU'), '4.780 s,2.390 s,\u22122.390 s,\u221250.0 %');
  await drag(page, '#strip-before', 0, 119);
  await rangesAre(page, '0-120', '');
  equal('its chip', plain(await chips(page)), 'Before: 0.00 s to 2.40 s×');
  await frame(page, 'crunch').hover();
  equal('half of BEFORE', await rowOf(page, 'CPU'), '2.400 s,2.390 s,\u221210.00 ms,\u22120.4 %');
  await totalsAre('AFTER, which the totals are of', page, {cpu: 2390, wall: 4800});
  await drag(page, '#strip', 0, 59);
  await rangesAre(page, '0-120', '0-60');
  await frame(page, 'crunch').hover();
  equal('a range of each', await rowOf(page, 'CPU'), '2.400 s,600.0 ms,\u22121.800 s,\u221275.0 %');
  await page.selectOption('#scale', 'shares');
  await frame(page, 'crunch').hover();
  equal('shares of the ranges', await rowOf(page, 'CPU'), '100 %,100 %,0.00 points,');
  await tableIsOf(page, 'Wall clock: ', '2 functions');
  await page.selectOption('#side', 'before');
  await totalsAre('BEFORE', page, {cpu: 2400, wall: 4800});
  const hash = await page.evaluate(() => location.hash), status = await textOf(page, '.status');
  await close(COMPARED, page);
  const second = await open(COMPARED, hash);
  equal('by a link', await textOf(second, '.status'), status);
  await second.click('#chips li:first-child button');
  await rangesAre(second, '', '0-60');
  await second.goBack();
  await rangesAre(second, '0-120', '0-60');
  await second.click('#reset');
  await rangesAre(second, '', '');
  await close(COMPARED, second);
}

/* What the details say of a measure: before, after, the change, and in per cent. */
const rowOf = async (page, measure) => (await page.locator('#values tr', {hasText: new RegExp(`^${measure}`)}).first().locator('td').allTextContents()).map(plain).join();

export async function bothStripsHaveKeysAndMaps() {
  const page = await open(COMPARED);
  await page.focus('#strip-before');
  await press(page, 'ArrowRight');
  await rangesAre(page, '0-12', '');
  await page.focus('#strip');
  await press(page, 'ArrowLeft');
  await rangesAre(page, '0-12', '228-240');
  await press(page, 'Escape');
  await rangesAre(page, '0-12', '');
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 'Escape');
  await rangesAre(page, '', '');
  await press(page, 't');
  check('both maps are shown', await page.isVisible('#map') && await page.isVisible('#map-before'));
  const namesOf = async (map) => (await page.locator(`${map} .map-row button`).allTextContents()).join();
  equal('rows before', await namesOf('#map-before'), 'app (8001),worker (8002),pool (8003)');
  equal('rows after', await namesOf('#map'), 'app (8001),worker (8002),pool (8003)');
  await page.click('#map-before .map-row:nth-of-type(2) button');
  const pressed = await page.locator('.map-row button[aria-pressed="true"]').allTextContents();
  equal('threads of one name are chosen in both', pressed.join(), 'worker (8002),worker (8002)');
  equal('in the list, too', await page.locator('#thread option:checked').textContent(), 'worker');
  await totalsAre('the workers', page, {cpu: 1190, wall: 2400});
  equal('what the strip before has', plain(await page.getAttribute('#strip-before', 'aria-valuetext')), 'the whole run, 4.80 s: lock 50.00 %, running 49.58 %');
  await drag(page, '#map-before .map-row:nth-of-type(1) .slices', 60, 129);
  await rangesAre(page, '60-130', '');
  await close(COMPARED, page);
}

export async function oneTimelineOfTwoHasAStrip() {
  const page = await open('timed-after', '#range=0-120&range-before=0-120');
  equal('sections', (await page.locator('.time:visible').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label')))).join(), 'After: Time');
  await frame(page, 'crunch').hover();
  equal('the range of AFTER', await rowOf(page, 'CPU'), '4.780 s,1.200 s,\u22123.580 s,\u221274.9 %');
  await close('timed-after', page);
}

export async function twoStripsAreForEverybody() {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(COMPARED, '#map=shown&range=0-60&range-before=60-120', {colorScheme});
    await checkAccess(`two strips, ${colorScheme}`, page);
    for (const width of [1600, 1080, 800, 600, 340]) {
      await page.setViewportSize({width, height: 800});
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      check(`nothing sticks out of ${width}: ${wide}`, wide <= width);
    }
    await checkAccess(`two strips, ${colorScheme}, phone`, page);
    await close(COMPARED, page);
  }
}

/* ---- a real program, and what Perfetto is told of it ---- */

/* Nanoseconds of a state's events in a range. */
const traced = (events, isWanted, begin, end) => events.filter(({ph, name}) => ph === 'X' && isWanted(name))
  .reduce((sum, {ts, dur}) => sum + Math.max(0, Math.min(1000 * (ts + dur), end) - Math.max(1000 * ts, begin)), 0);

export async function aRealRangeIsThatOfItsTrace() {
  const trace = JSON.parse(readFileSync(join(pages, 'timed-run.perfetto.json'), 'utf8'));
  const events = trace.traceEvents ?? trace;
  for (const [first, end] of [[0, 120], [60, 61], [120, 239], [200, 240]]) {
    const page = await open('timed-run', `#idle=shown&range=${first}-${end}`);
    const {ns, nodes} = await page.evaluate(() => {
      const {slices, trees} = JSON.parse(document.getElementById('profile').textContent);
      return {ns: slices.ns, nodes: trees.reduce((sum, tree) => sum + tree.nodes, 0)};
    });
    /* A node is off by less than a thousandth of a slice at each end of a range, and an event by an eighth of a microsecond. The ends have what is
     * outside of the run. */
    const within = 2 * nodes * ns / 1000 + 125 * events.length;
    const [from, to] = [first === 0 ? -Infinity : first * ns, end === 240 ? Infinity : end * ns];
    for (const [measure, isWanted] of [['cpu', (name) => name === 'running'], ['wall', () => true]]) {
      const found = Number(await page.getAttribute(`#total-${measure}`, 'value')), expected = traced(events, isWanted, from, to);
      check(`${measure} of ${first}-${end}: ${found} ns, and ${expected} in the trace`, Math.abs(found - expected) <= within);
    }
    await close('timed-run', page);
  }
}
