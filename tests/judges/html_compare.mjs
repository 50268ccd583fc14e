/*
 * html_page.mjs: a page that compares two recordings. What it says of each is held against what pprof_read.py reads in the
 * same recording, written as a pprof file.
 */
import {WAIT_MS, equal, check, totalsOf, functionsOf, share, seconds, plain, open, close, textOf, frame, press, stateOf, widthOf, namesAt, says, search,
        tableIsOf, checkAccess, noNumberIsLong, milliseconds, chips} from './html_browser.mjs';

const HOSTILE = '</script><script>window.broken=1</script><img src=x onerror=window.broken=2>"\'&\u2028?';
const sides = {before: 'compared-before', after: 'compared-after'};
const shareIn = (element, name) => element.evaluate((each, property) => each.style.getPropertyValue(property), `--${name}-share`);
const coloursOf = async (element) => `${await shareIn(element, 'less')} ${await shareIn(element, 'more')}`;
const rows = (page) => page.locator('#rows tr').evaluateAll((all) => all.map((tr) => [tr.querySelector('th').textContent, ...[...tr.cells].map(({title}) => title)]));
const firstOfTable = (page) => page.locator('#rows tr:first-child').evaluate((tr) => [...tr.cells].map(({textContent}) => textContent));

/* The row of a measure in the details. */
const detailOf = async (page, title) =>
  (await page.locator('#values tr', {has: page.locator('th', {hasText: new RegExp(`^${title}$`)})}).locator('td').allTextContents()).map(plain).join();

/* The file of the program has another name on each side, and its sources are elsewhere. */
export async function whatIsTheSameIsOneFrame() {
  const page = await open('compared');
  const {before, after} = Object.fromEntries(Object.entries(sides).map(([side, name]) => [side, functionsOf(name).wall]));
  equal('functions', (await namesAt(page, 3)).join(), 'parse,copy,new_way,init,init,fsync');
  equal('width of parse', await widthOf(page, 'parse'), '20%');
  await frame(page, 'parse').hover();
  const change = `${milliseconds(before.parse.total)},${milliseconds(after.parse.total)},+${milliseconds(after.parse.total - before.parse.total)},+100.0 %`;
  equal('parse', await detailOf(page, 'Wall clock'), change);
  equal('itself', await detailOf(page, 'itself'), change);
  equal('its samples', await detailOf(page, 'Samples'), '10,20,+10,+100.0 %');
  equal('where it is', await textOf(page, '#where'), '/build/2/app-2 · /build/2/parse.c:13');
  equal('for a screen reader', plain(await frame(page, 'parse').getAttribute('aria-label')), 'parse, 200.0 ms Wall clock, 20.00 % of all, change +100.0 ms, +100.0 %');
  await frame(page, 'new_way').hover();
  equal('what is new', await detailOf(page, 'Wall clock'), `0 ns,${milliseconds(after.new_way.total)},+90.00 ms,new`);
  equal('the recordings', (await page.locator('#comparison dd').allTextContents()).map(plain).join('|'),
        '800.0 ms of thread time, 2025-11-24 16:00:00 UTC, /build/1/app-1|1.000 s of thread time, 2025-11-24 16:00:00 UTC, /build/2/app-2');
  await noNumberIsLong('compared', page);
  await close('compared', page);
}

export async function coloursSayWhatHasChanged() {
  const page = await open('compared');
  equal('colours at first', await page.inputValue('#colour'), 'change');
  equal('the legend', (await page.locator('#legend li').allTextContents()).join(), 'half as much, or gone,the same,twice as much, or new');
  equal('twice as much', await coloursOf(frame(page, 'parse')), '0% 100%');
  equal('as much', await coloursOf(frame(page, 'copy')), '0% 0%');
  equal('new', await coloursOf(frame(page, 'new_way')), '0% 100%');
  equal('a quarter more', await coloursOf(frame(page, 'fsync')), '0% 30%'); /* log2(1.25), in steps of 5 % */
  const inits = page.locator('.frame[aria-label^="init,"]');
  equal('two functions of one name', `${await coloursOf(inits.nth(0))}, ${await coloursOf(inits.nth(1))}`, '0% 0%, 0% 100%');
  await page.selectOption('#colour', 'time');
  check('other colours are still there', (await textOf(page, '#legend')).includes('running 500.0 ms'));
  await close('compared', page);
}

export async function eitherSideGivesTheWidths() {
  const page = await open('compared');
  await frame(page, 'main').click();
  await page.selectOption('#side', 'before');
  check('the zoom stays', (await textOf(page, '#zoomed')).startsWith('Zoomed to main: 400.0 ms, 50.00 % of all, change +100.0 ms, +25.0 %.'));
  await press(page, 'Escape');
  equal('functions', (await namesAt(page, 3)).map((name) => name === HOSTILE ? 'hostile' : name).join(), 'copy,parse,hostile,init,init,fsync');
  equal('width of parse', await widthOf(page, 'parse'), '12.5%');
  equal('all', await page.getAttribute('#total-wall', 'value'), String(totalsOf(sides.before).wall));
  const gone = page.locator('.frame[aria-level="3"]').nth(2);
  equal('what is gone', await coloursOf(gone), '100% 0%');
  await gone.hover();
  equal('in words', await detailOf(page, 'Wall clock'), '100.0 ms,0 ns,−100.0 ms,gone');
  equal('its name is text', await page.textContent('#name'), HOSTILE);
  equal('broken', await page.evaluate(() => window.broken), undefined);
  equal('images', await page.locator('img').count(), 0);
  equal('scripts', await page.locator('script').count(), 3);
  await close('compared', page);
}

export async function sharesAndWorkAreCompared() {
  const page = await open('compared');
  const before = totalsOf(sides.before).wall, after = totalsOf(sides.after).wall;
  const parse = [functionsOf(sides.before).wall.parse.total, functionsOf(sides.after).wall.parse.total];
  await page.selectOption('#scale', 'shares');
  await frame(page, 'parse').hover();
  equal('shares', await detailOf(page, 'Wall clock'), `${share(parse[0], before)},${share(parse[1], after)},+7.50 points,+60.0 %`);
  equal('a smaller share', await coloursOf(frame(page, 'copy')), '30% 0%'); /* log2(16 / 20) */
  equal('the table', plain((await firstOfTable(page)).slice(0, 3).join()), '12.50 %,0.00 %,−12.50 points');
  check('no units are asked for', !await page.isVisible('#units-before'));
  await page.selectOption('#scale', 'work');
  await page.fill('#units-before', '1000');
  await press(page, 'Tab');
  await page.fill('#units-after', '2000');
  await press(page, 'Tab');
  await page.waitForFunction(() => location.hash.includes('1000%2C2000'), null, {timeout: WAIT_MS});
  await frame(page, 'copy').hover();
  await frame(page, 'parse').hover();
  equal('for equal work', await detailOf(page, 'Wall clock'), '100.0 ms,100.0 ms,0 ns,');
  equal('half of it', await coloursOf(frame(page, 'copy')), '100% 0%');
  equal('the link', JSON.stringify(await stateOf(page)), '{"scale":"work","units":"1000,2000"}');
  await page.fill('#units-after', '0');
  await press(page, 'Tab');
  await says('no units', page, '#said', 'Units of work are numbers above 0.');
  await page.click('#reset');
  equal('after reset', await page.inputValue('#scale'), 'time');
  await close('compared', page);
}

export async function theTableComparesExactly() {
  const page = await open('compared');
  const {before, after} = Object.fromEntries(Object.entries(sides).map(([side, name]) => [side, functionsOf(name).cpu]));
  const exact = (value) => seconds(value ?? 0n);
  await page.check('#event-cpu', {force: true});
  await tableIsOf(page, 'CPU: ', '7 functions'); /* the others wait */
  const found = (await rows(page)).filter(([name]) => name !== 'init' && name !== HOSTILE);
  equal('functions', found.map(([name]) => name).sort().join(), 'copy,main,new_way,parse');
  for (const [name, ...titles] of found) {
    const said = [titles[0], titles[1], titles[3], titles[4]].map(plain).join();
    equal(name, said, [before[name]?.self, after[name]?.self, before[name]?.total, after[name]?.total].map(exact).join());
  }
  equal('sorted by change', await page.getAttribute('th[data-column="change"]', 'aria-sort'), 'descending');
  equal('the largest change', (await firstOfTable(page)).slice(2, 3).map(plain).join(), '+100.0 ms');
  await page.click('th[data-column="total-change"] button');
  await page.waitForSelector('th[data-column="total-change"][aria-sort]', {timeout: WAIT_MS});
  check('by the change of totals', ['main', 'parse', HOSTILE].includes((await rows(page))[0][0]));
  await page.click('th[data-column="self"] button');
  await page.waitForSelector('th[data-column="self"][aria-sort]', {timeout: WAIT_MS});
  equal('by time after', (await rows(page))[0][0], 'parse');
  await close('compared', page);
}

/* Error bars of 19.6 ms on either side: their root of squares. */
export async function whatMayBeChanceIsSaid() {
  const page = await open('compared');
  await frame(page, 'copy').hover();
  equal('of both', await textOf(page, '#chance'), 'Chance alone can make a change of 27.72 ms.');
  await frame(page, 'new_way').hover();
  equal('of one', await textOf(page, '#chance'), 'Chance alone can make a change of 19.60 ms.');
  await page.locator('.frame[aria-label^="init,"]').nth(1).hover();
  equal('of few samples', await textOf(page, '#chance'), 'There are too few samples to tell this change from chance.');
  await page.selectOption('#scale', 'shares');
  await frame(page, 'copy').hover();
  equal('of shares', await textOf(page, '#chance'), 'Chance alone can make a change of 3.14 points.'); /* hypot(1.96, 2.45) */
  await page.check('#event-samples', {force: true});
  await frame(page, 'copy').hover();
  equal('samples are counted', await textOf(page, '#chance'), '');
  await close('compared', page);
}

/* A thread of one run is no thread of another. */
export async function threadsAreComparedByName() {
  const page = await open('compared');
  equal('the list', (await page.locator('#thread option').allTextContents()).join(), 'All, merged,All, by name,app-2,worker-# × 2, before × 1');
  await page.selectOption('#thread', 'each');
  equal('groups', (await namesAt(page, 2)).sort().join(), 'app-2,worker-# × 2');
  await page.selectOption('#thread', {label: 'worker-# × 2, before × 1'});
  equal('time of the workers', await page.getAttribute('#total-wall', 'value'), '500000000');
  equal('in words', await detailOf(page, 'Wall clock'), '400.0 ms,500.0 ms,+100.0 ms,+25.0 %');
  check('none is chosen alone', !await page.isVisible('#member'));
  await close('compared', page);
  const linked = await open('compared', '#thread=1');
  equal('nor by a link', await linked.inputValue('#thread'), 'all');
  await close('compared', linked);
}

export async function viewsAndFiltersCompare() {
  const page = await open('compared', '#view=callers');
  equal('functions that spend time', (await namesAt(page, 2)).slice(0, 3).join(), 'fsync,parse,copy');
  await frame(page, 'fsync').hover();
  equal('callers', await detailOf(page, 'Wall clock'), '400.0 ms,500.0 ms,+100.0 ms,+25.0 %');
  await frame(page, 'work').click();
  await press(page, 's');
  await says('both sides of work', page, '#zoomed', 'Callers and callees of work: 500.0 ms, 50.00 % of all, change +100.0 ms, +25.0 %.');
  await page.selectOption('#view', 'callees');
  await search(page, 'parse|copy');
  await says('matches', page, '#found', '2 functions match: 360.0 ms, 36.00 % of Wall clock, change +100.0 ms, +38.5 %.');
  await search(page, '');
  await frame(page, 'main').click();
  await press(page, 'f');
  equal('a filter', await chips(page), 'only through main×');
  await press(page, 'Escape');
  equal('what it leaves of both', await detailOf(page, 'Wall clock'), '400.0 ms,500.0 ms,+100.0 ms,+25.0 %');
  await close('compared', page);
}

export async function aLinkSaysTheComparison() {
  const first = await open('compared', '#side=before&scale=shares&event=cpu&sort=total-change');
  await frame(first, 'parse').click();
  const hash = await first.evaluate(() => location.hash);
  const status = await textOf(first, '.status');
  await close('compared', first);
  const second = await open('compared', hash);
  equal('status by the link', await textOf(second, '.status'), status);
  equal('side', await second.inputValue('#side'), 'before');
  equal('scale', await second.inputValue('#scale'), 'shares');
  await close('compared', second);
  const odd = await open('compared', '#side=both&scale=constructor&units=0,1&sort=__proto__');
  equal('an odd link', `${await odd.inputValue('#side')} ${await odd.inputValue('#scale')} ${await odd.inputValue('#units-before')}`, 'after time 1');
  await close('compared', odd);
  const single = await open('small', '#side=before&scale=work&units=1,2&colour=change');
  check('one recording is not compared', !await single.isVisible('#comparison'));
  equal('its colours', await single.inputValue('#colour'), 'time');
  await close('small', single);
}

export async function aComparisonIsForEverybody() {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open('compared', '#scale=work&units=3,4', {colorScheme});
    await tableIsOf(page, 'Wall clock: ', ' functions');
    await checkAccess(`compared, ${colorScheme}`, page);
    await page.selectOption('#side', 'before');
    await page.selectOption('#scale', 'shares');
    await frame(page, 'main').click();
    await search(page, 'parse');
    await tableIsOf(page, 'Wall clock, in main: ', ' functions that match');
    await checkAccess(`compared, ${colorScheme}, zoomed and searched`, page);
    for (const width of [1600, 1080, 970, 600, 390]) {
      await page.setViewportSize({width, height: 844});
      const [wide, inside] = await page.evaluate(() => [document.documentElement.scrollWidth, document.getElementById('detail').scrollWidth]);
      check(`nothing sticks out of ${width}: ${wide}`, wide <= width);
      equal(`nor of the details at ${width}`, inside, await page.evaluate(() => document.getElementById('detail').clientWidth));
    }
    await checkAccess(`compared, ${colorScheme}, phone`, page);
    await close('compared', page);
  }
}
