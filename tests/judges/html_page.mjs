/*
 * CHROMIUM=PROGRAM html_page.mjs MODULES PAGES: opens the pages that html_pages wrote, run.html and timed-run.html, in Chromium, from their files and with no network,
 * and does with them what people do. What a page says is held against what pprof_read.py reads in the same profile,
 * written as a pprof file. MODULES has playwright-core and axe-core.
 */
import {statSync} from 'node:fs';
import {join} from 'node:path';
import {MEASURES, TITLES, WAIT_MS, failures, complain, equal, check, readPprof, totalsOf, functionsOf, share, seconds,
        plain, browser, open, close, textOf, frame, focused, nameFocused, press, stateOf, widthOf, says, search,
        tableIsOf, checkAccess, noNumberIsLong, milliseconds, pages} from './html_browser.mjs';
import * as looks from './html_looks.mjs';
import * as compare from './html_compare.mjs';
import * as views from './html_views.mjs';
import * as times from './html_times.mjs';
import * as waits from './html_waits.mjs';

async function totalsAreThoseOfTheProfile(name) {
  const page = await open(name);
  const totals = totalsOf(name);
  for (const type of MEASURES) {
    equal(`${name}: total ${type}`, await page.getAttribute(`#total-${type}`, 'value'), String(totals[type]));
    equal(`${name}: total ${type} for who points at it`, plain(await page.getAttribute(`#total-${type}`, 'title')),
          type === 'samples' ? String(totals[type]) : seconds(totals[type]));
  }
  await tableIsOf(page, 'Wall clock: ', ' functions');
  await noNumberIsLong(name, page);
  await close(name, page);
}

async function theHeaderSaysWhatWasRecorded() {
  const page = await open('small');
  equal('command', await textOf(page, 'h1'), "/opt/bin/app --serve 'a file'");
  equal('title', await page.title(), "/opt/bin/app --serve 'a file' – wallprof");
  equal('start', await textOf(page, '#started'), '2025-11-24 16:00:00 UTC');
  equal('thread time', await textOf(page, '#thread-time'), milliseconds(totalsOf('small').wall));
  equal('duration', await textOf(page, '#duration'), '12.35 s');
  equal('threads', await textOf(page, '#threads'), '3');
  await page.click('.comments summary');
  const comments = await page.locator('#comments li').allTextContents();
  equal('comments', JSON.stringify(comments), JSON.stringify(readPprof('comments', 'small').map((words) => words.join(' '))));
  await close('small', page);
}

async function aClickZooms() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  const total = totalsOf('small').wall;
  await frame(page, 'main').click();
  equal('zoomed', await textOf(page, '#zoomed'), `Zoomed to main: ${milliseconds(wall.main.total)}, ${share(wall.main.total, total)} of all.`);
  equal('width of main', await widthOf(page, 'main'), '100%');
  equal('width of all', await widthOf(page, 'all'), '100%');
  const inside = 600001000; /* wait, called by main */
  equal('width of wait', parseFloat(await widthOf(page, 'wait')).toFixed(4), (100 * inside / Number(wall.main.total)).toFixed(4));
  check('main is said to be selected', await frame(page, 'main').getAttribute('aria-selected') === 'true');
  await frame(page, 'all').click();
  equal('zoomed out', await textOf(page, '#zoomed'), '');
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('zoomed').textContent, null, {timeout: WAIT_MS});
  check('back zooms again', (await textOf(page, '#zoomed')).startsWith('Zoomed to main'));
  await page.click('#reset');
  equal('after reset', await textOf(page, '#zoomed'), '');
  equal('hash after reset', JSON.stringify(await stateOf(page)), '{}');
  await close('small', page);
}

async function searchCountsNestedMatchesOnce() {
  const page = await open('small');
  const functions = functionsOf('small');
  const totals = totalsOf('small');
  await search(page, 'PARSE');
  const expected = (type, title, value) => `1 function matches: ${value}, ${share(functions[type].parse.total, totals[type])} of ${title}.`;
  equal('found', await textOf(page, '#found'), expected('wall', 'Wall clock', milliseconds(functions.wall.parse.total)));
  await page.check('#event-cpu', {force: true});
  equal('found, CPU', await textOf(page, '#found'), expected('cpu', 'CPU', milliseconds(functions.cpu.parse.total)));
  await page.check('#event-samples', {force: true});
  equal('found, samples', await textOf(page, '#found'), expected('samples', 'Samples', String(functions.samples.parse.total)));
  check('matches are marked', await page.locator('.frame.match').count() === 3);
  check('others are not', await page.locator('.frame.miss').count() > 2);
  await search(page, 'in:libc');
  equal('found by module', await textOf(page, '#found'),
        `1 function matches: ${functions.samples.wait.total}, ${share(functions.samples.wait.total, totals.samples)} of Samples.`);
  await search(page, 'all');
  equal('made up frames match nothing', await textOf(page, '#found'), 'Nothing matches “all”.');
  await search(page, 'no such thing');
  equal('found nothing', await textOf(page, '#found'), 'Nothing matches “no such thing”.');
  await close('small', page);
}

async function searchTakesPatterns() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  const total = totalsOf('small').wall;
  const found = (count, value) => `${count} ${count === 1 ? 'function matches' : 'functions match'}: ${milliseconds(value)}, ${share(value, total)} of Wall clock.`;
  await search(page, '^(copy|item)$');
  await says('two names', page, '#found', found(2, wall.item.total)); /* which calls copy, too */
  await search(page, 'in:^lib.*6$');
  await says('a module', page, '#found', found(1, wall.wait.total));
  await search(page, 'ar[');
  check('a bad pattern is said', (await textOf(page, '#found')).startsWith('“ar[” stands in no name, and is no regular expression.'));
  equal('frames that match it', await page.locator('.frame.match').count(), 0);
  await search(page, 'pa.se');
  await says('after it', page, '#found', found(1, wall.parse.total));
  await close('small', page);
  const hostile = await open('hostile');
  for (const text of ['?', '</script><script>window.broken=1</script>']) { /* text, whatever it would be as a pattern */
    await search(hostile, text);
    check(`as text: ${text}`, (await textOf(hostile, '#found')).startsWith('1 function matches'));
  }
  await close('hostile', hostile);
}

async function theKeyboardGoesEverywhere() {
  const page = await open('small');
  await page.locator('.frame[tabindex="0"]').focus();
  equal('one stop for the tab key', await page.locator('.frame[tabindex="0"]').count(), 1);
  equal('first', await nameFocused(page), 'all');
  await press(page, 'ArrowDown');
  equal('down', await nameFocused(page), 'parse');
  await press(page, 'ArrowRight');
  equal('right', await nameFocused(page), 'main');
  await press(page, 'ArrowRight');
  equal('right at the end', await nameFocused(page), 'main');
  await press(page, 'ArrowDown');
  equal('down again', await nameFocused(page), 'wait');
  await press(page, 'ArrowUp');
  equal('up', await nameFocused(page), 'main');
  await press(page, 'ArrowLeft');
  equal('left', await nameFocused(page), 'parse');
  await press(page, 'ArrowRight');
  await press(page, 'Enter');
  equal('focus after Enter', await nameFocused(page), 'main');
  check('Enter zooms', (await textOf(page, '#zoomed')).startsWith('Zoomed to main'));
  equal('detail', await textOf(page, '#name'), 'main');
  await press(page, 'ArrowLeft');
  equal('what is not shown is not gone to', await nameFocused(page), 'main');
  await press(page, 'ArrowUp');
  equal('up, out of the zoomed', await nameFocused(page), 'all');
  await press(page, 'ArrowDown');
  equal('and down again to it', await nameFocused(page), 'main');
  await press(page, 'Backspace');
  equal('Backspace zooms out', await textOf(page, '#zoomed'), '');
  await press(page, 'ArrowDown');
  await press(page, 'Enter');
  await press(page, 'Escape');
  equal('Escape shows all', await textOf(page, '#zoomed'), '');
  equal('focus after Escape', await nameFocused(page), 'all');
  await press(page, '/');
  equal('/ goes to the search', await focused(page), 'search');
  await page.keyboard.type('item');
  await press(page, 'Enter');
  equal('Enter goes to the match', await nameFocused(page), 'item');
  await press(page, '/');
  await press(page, 'Escape');
  equal('Escape empties the search', await page.inputValue('#search'), '');
  await page.selectOption('#look', 'flame');
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 'Escape');
  await press(page, 'ArrowUp');
  equal('flames: up is to the callee', await nameFocused(page), 'parse');
  await close('small', page);
}

async function aFrameSaysAllOfItself() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  const total = totalsOf('small').wall;
  equal('label', plain(await frame(page, 'main').getAttribute('aria-label')),
        `main, ${milliseconds(wall.main.total)} Wall clock, ${share(wall.main.total, total)} of all`);
  await frame(page, 'main').click();
  await frame(page, 'item').hover();
  equal('name', await textOf(page, '#name'), 'item');
  equal('where', await textOf(page, '#where'), '/opt/bin/app · /src/parse.c:55');
  equal('values', (await page.locator('#values tr').allTextContents()).map(plain).join('|'),
        [`Wall clock150.5 ms50.00 ms${share(150500000, total)}${share(150500000, wall.main.total)}`,
         `CPU150.0 ms50.00 ms${share(150000000, totalsOf('small').cpu)}${share(150000000, 290001001)}`,
         `Off CPU500.0 µs0 ns${share(500000, totalsOf('small').offcpu)}${share(500000, 602500000)}`,
         `Samples155${share(15, 93)}${share(15, 35)}`].join('|'));
  equal('of what they are', (await page.locator('#columns th').allTextContents()).join(), 'Total,Self,Of all,Of zoomed');
  await frame(page, 'copy').hover();
  equal('an inlined call', await textOf(page, '#where'), '/opt/bin/app · /src/copy.h:9 · inlined');
  await page.locator('.frame[aria-level="3"]', {hasText: 'parse'}).hover();
  equal('lines of calls that are one frame', await textOf(page, '#where'), '/opt/bin/app · /src/parse.c:104, 117');
  await close('small', page);
}

async function theTableIsExact() {
  const page = await open('small');
  const functions = functionsOf('small');
  for (const type of MEASURES) {
    await page.check(`#event-${type}`, {force: true});
    await tableIsOf(page, `${TITLES[type]}: `, ' functions');
    const rows = await page.locator('#rows tr').evaluateAll((all) => all.map((tr) => [tr.querySelector('th').textContent, tr.cells[0].title, tr.cells[2].title]));
    const exact = (value) => type === 'samples' ? String(value) : seconds(value);
    for (const [name, self, total] of rows) {
      equal(`${name}: self ${type}`, plain(self), exact(functions[type][name].self));
      equal(`${name}: total ${type}`, plain(total), exact(functions[type][name].total));
    }
    equal(`functions with ${type}`, rows.length, Object.values(functions[type]).filter(({total}) => total > 0n).length);
  }
  await page.click('th[data-column="name"] button');
  await page.waitForSelector('th[data-column="name"][aria-sort]', {timeout: WAIT_MS});
  const names = await page.locator('#rows th').allTextContents();
  equal('by name', names.join(), [...names].sort().join());
  equal('aria-sort', await page.getAttribute('th[data-column="name"]', 'aria-sort'), 'ascending');
  await close('small', page);
}

async function aLinkSaysTheView() {
  const first = await open('small');
  await first.selectOption('#thread', 'each');
  await first.check('#event-cpu', {force: true});
  await first.selectOption('#colour', 'state');
  await first.selectOption('#look', 'flame');
  await frame(first, 'main').click();
  await search(first, 'item');
  const hash = await first.evaluate(() => location.hash);
  const status = await textOf(first, '.status');
  await close('small', first);
  const second = await open('small', hash);
  equal('status by the link', await textOf(second, '.status'), status);
  equal('thread', await second.inputValue('#thread'), 'each');
  equal('look', await second.inputValue('#look'), 'flame');
  equal('colours', await second.inputValue('#colour'), 'state');
  check('event', await second.isChecked('#event-cpu'));
  await close('small', second);
  /* What cannot be is ignored. */
  const odd = await open('small', '#event=x&thread=99&zoom=99999999&look=__proto__&colour=1&theme=%22&sort=constructor&other=1');
  equal('an odd link', await textOf(odd, '#found') + await textOf(odd, '#zoomed') + await odd.inputValue('#thread'), 'all');
  await close('small', odd);
}

async function noNameIsMarkup() {
  const name = '</script><script>window.broken=1</script><img src=x onerror=window.broken=2>"\'&\u2028?';
  const page = await open('hostile');
  equal('broken', await page.evaluate(() => window.broken), undefined);
  equal('images', await page.locator('img').count(), 0);
  equal('command', await page.textContent('h1'), name);
  equal('frame', await page.locator('.frame[aria-level="2"]').textContent(), name);
  await page.locator('.frame[aria-level="2"]').click();
  await search(page, '<script>');
  await page.selectOption('#thread', 'each');
  await tableIsOf(page, `Wall clock, in ${name}: `, ' functions that match');
  equal('row', await page.locator('#rows th').textContent(), name);
  equal('broken', await page.evaluate(() => window.broken), undefined);
  equal('scripts', await page.locator('script').count(), 2);
  /* Nor would it be run: the policy knows one script. */
  page.mayBeRefused = true;
  await page.evaluate(() => {
    const script = document.createElement('script');
    script.textContent = 'window.broken = 3';
    document.body.append(script);
  });
  equal('broken by another script', await page.evaluate(() => window.broken), undefined);
  await close('hostile', page);
}

/* Frames that are painted, and no elements. */
const narrowCount = (page) => page.locator('.narrow path').evaluateAll((all) => all.reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0));

/* The middles of painted frames on the screen, of one class. */
const narrowPlaces = (page, name = '') => page.locator(`.narrow path${name}`).evaluateAll((all) => all.flatMap((path) => {
  const {left, top} = path.ownerSVGElement.getBoundingClientRect();
  return [...path.getAttribute('d').matchAll(/M([\d.]+) ([\d.]+)h([\d.]+)/g)].map(([, x, y, width]) => [left + Number(x) + Number(width) / 2, top + Number(y) + 10]);
}));

/* What is under a place, as the tree of calls says it: the outermost first. */
async function narrowFramesCanBeUsed() {
  const page = await open('large');
  const graph = await page.locator('#scroll').boundingBox();
  const places = (await narrowPlaces(page)).filter(([, y]) => y < graph.y + graph.height - 30);
  check(`narrow frames in sight: ${places.length}`, places.length > 200);
  const before = await page.locator('.frame').count(), names = new Set();
  for (const at of [0, 60, 120, 199]) {
    const [x, y] = places[at];
    await page.mouse.move(x, y);
    const {label, left, right, top} = await page.evaluate(([x, y]) => {
      const element = document.elementFromPoint(x, y), {left, right, top} = element.getBoundingClientRect();
      return {label: element.ariaLabel ?? '', left, right, top};
    }, [x, y]);
    const name = label.split(', ')[0], said = await textOf(page, '#name');
    names.add(name);
    check(`${at}: who is pointed at is an element: ${label}`, label.includes('Wall clock') && left <= x && right >= x && top <= y);
    check(`${at}: the details are of it: ${said}`, label.startsWith(said));
  }
  equal('only the last one pointed at is an element more', await page.locator('.frame').count(), before + 1);
  const [x, y] = places[199], said = await textOf(page, '#name');
  await page.mouse.click(x, y);
  check('a click zooms to it', (await textOf(page, '#zoomed')).startsWith(`Zoomed to ${said}: `));
  equal('which is as wide as the graph', await page.locator('.frame[aria-selected="true"]').evaluate((element) => element.style.width), '100%');
  await press(page, 'Escape');
  equal('as before', await page.locator('.frame').count(), before);
  await page.mouse.move(graph.x + 5, graph.y - 60);
  /* The keyboard goes there, too. */
  await page.locator('.frame[tabindex="0"]').focus();
  for (let down = 0; down < 30; down++)
    await press(page, 'ArrowDown');
  const width = await page.evaluate(() => document.activeElement.getBoundingClientRect().width);
  check(`what has the focus is narrow: ${width}`, width < 8);
  equal('it is an element', await page.evaluate(() => document.activeElement.className), 'frame');
  await search(page, 'handle_12');
  const all = await narrowCount(page), found = (await narrowPlaces(page, '.match')).length;
  check(`matches among narrow frames: ${found} of ${all}`, found > 0 && found < all / 4);
  equal('and the others', (await narrowPlaces(page, '.miss')).length, all - found);
  await search(page, '');
  equal('no matches any more', await page.locator('.narrow :is(.match, .miss)').count(), 0);
  await page.selectOption('#colour', 'module');
  check('colours of modules', await page.locator('.narrow path').evaluateAll((all) => all.length > 5 && new Set(all.map((path) => getComputedStyle(path).fill)).size === all.length));
  await close('large', page);
}

async function fiftyThousandNodesAreQuick() {
  const began = Date.now();
  const page = await open('large');
  const opened = Date.now() - began;
  const painted = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0))));
  const wide = await page.locator('.frame').count(), narrow = await narrowCount(page), drawn = wide + narrow;
  check(`frames drawn: ${drawn}`, drawn > 500 && drawn <= 3001);
  check(`elements: ${wide}`, wide > 30 && wide < drawn / 3);
  const zoomStart = await page.evaluate(() => performance.now());
  await page.locator('.frame[aria-level="4"]').first().click();
  await page.waitForFunction(() => document.getElementById('zoomed').textContent);
  const zoomTime = Math.round(await page.evaluate(() => performance.now()) - zoomStart);
  const within = await page.locator('.frame').count() + await narrowCount(page);
  check('zooming shows what was too narrow', await page.locator('.frame[aria-level="8"]').count() > 0 && within > 10);
  console.log(`50,000 nodes: opened after ${opened} ms (first view ${Math.round(painted)} ms after it began), ${drawn} frames drawn; ` +
    `a zoom with its click ${zoomTime} ms, ${within} frames`);
  await checkAccess('large', page);
  await close('large', page);
}

/* Times are told, and not judged. */
async function hundredThousandStacksAreAPage() {
  const megabytes = statSync(join(pages, 'stacks.html')).size / 1e6;
  check(`size of 100,000 stacks: ${megabytes} MB`, megabytes <= 10);
  const page = await open('stacks');
  const painted = await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0))));
  const {samples} = totalsOf('stacks');
  equal('samples', await page.getAttribute('#total-samples', 'value'), String(samples));
  const narrow = await page.locator('.frame').evaluateAll((all) => all.filter((element) => element.getBoundingClientRect().width < 7.99).length);
  check(`elements narrower than eight pixels: ${narrow}`, narrow === 0);
  const least = await page.locator('.narrow path').evaluateAll((all) => Math.min(...all.flatMap((path) => [...path.getAttribute('d').matchAll(/h([\d.]+)v/g)].map(([, width]) => Number(width)))));
  check(`the narrowest frame: ${least}`, least >= 0.79 && least < 3); /* of a pixel there is a gap of a fifth */
  const began = Date.now();
  await search(page, 'handle_123');
  console.log(`100,000 stacks: ${megabytes.toFixed(1)} MB, first view ${Math.round(painted)} ms after it began; a search ${Date.now() - began} ms`);
  check('what was found', /^11 functions match: /.test(await textOf(page, '#found')));
  await close('stacks', page);
}

async function aDeepStackIsScrolledThrough() {
  const page = await open('deep');
  check('only what is in sight is drawn', await page.locator('.frame').count() < 200);
  await page.locator('#scroll').evaluate((element) => { element.scrollTop = 10000 * 21; });
  await page.waitForSelector('.frame[aria-level="10001"]');
  await page.locator('.frame[aria-level="10005"]').click();
  check('zoomed deep down', (await textOf(page, '#zoomed')).startsWith('Zoomed to'));
  await tableIsOf(page, 'Wall clock, in ', ' functions');
  equal('functions in the table', await page.locator('#rows tr').count(), 2);
  await press(page, 'ArrowDown');
  for (let i = 0; i < 60; i++)
    await press(page, 'ArrowDown');
  check('what has the focus is in sight', await page.evaluate(() => {
    const {left, top, height} = document.activeElement.getBoundingClientRect();
    return document.elementFromPoint(left + 9, top + height / 2) === document.activeElement;
  }));
  for (let i = 0; i < 60; i++)
    await press(page, 'ArrowUp');
  equal('one further', await page.evaluate(() => document.activeElement.getAttribute('aria-level')), '10006');
  await close('deep', page);
}

async function aRealProgramHasAPage() {
  const page = await open('run');
  check('its threads', Number(await textOf(page, '#threads')) === 2);
  for (const text of ['time_sleep', 'clock_nanosleep', 'start_thread']) {
    await search(page, text);
    console.log(`    ${await textOf(page, '#found')}`);
  }
  check('a thread began in start_thread', (await textOf(page, '#found')).startsWith('1 function matches'));
  await checkAccess('run', page);
  await close('run', page);
}

for (const name of ['small', 'large', 'huge', 'hostile', 'deep'])
  await totalsAreThoseOfTheProfile(name);
for (const test of [theHeaderSaysWhatWasRecorded, aClickZooms, searchCountsNestedMatchesOnce, searchTakesPatterns, views.threadsCanBeTold, views.threadsAreGrouped, views.flamesAreUpsideDown, views.matchesWithoutTimeAreNotGoneTo,
                    views.callersStandBelowWhatTheyCall, views.aSandwichHasBothSides, views.namesStacksAndLinksAreCopied, views.framesCanBeHidden, views.stacksCanBeChosen, views.recursionIsCollapsed,
                    theKeyboardGoesEverywhere, aFrameSaysAllOfItself, theTableIsExact, aLinkSaysTheView, looks.thereAreTwoThemes,
                    looks.runningAndBlockedDiffer, looks.coloursSayWhatTimeIsSpentOn, looks.idleTimeIsHidden, looks.theGraphHasRoom, looks.aNarrowWindowWillDo, looks.anOldBrowserIsTold, looks.aBrowserOfYesterdayWillDo, looks.itPrints,
                    compare.whatIsTheSameIsOneFrame, compare.coloursSayWhatHasChanged, compare.eitherSideGivesTheWidths, compare.sharesAndWorkAreCompared,
                    compare.theTableComparesExactly, compare.whatMayBeChanceIsSaid, compare.threadsAreComparedByName, compare.viewsAndFiltersCompare, compare.aLinkSaysTheComparison,
                    compare.aComparisonIsForEverybody, ...Object.values(times), ...Object.values(waits), noNameIsMarkup, narrowFramesCanBeUsed, fiftyThousandNodesAreQuick, hundredThousandStacksAreAPage,
                    aDeepStackIsScrolledThrough, aRealProgramHasAPage]) {
  await test().catch((error) => complain(`${test.name}: ${error.stack}`));
  console.log(`${failures ? '   ' : 'ok '} ${test.name}`);
}
await browser.close();
process.exit(failures ? 1 : 0);
