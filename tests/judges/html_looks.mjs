/* html_page.mjs: colours, themes, idle time, and how the page fits its window. */
import {equal, check, totalsOf, share, plain, open, close, textOf, frame, press, stateOf, widthOf, search, tableIsOf,
        checkAccess, noNumberIsLong, colourOf, colourIn, modules, browser, pages, WAIT_MS} from './html_browser.mjs';

export async function thereAreTwoThemes() {
  const grounds = [];
  for (const colorScheme of ['light', 'dark']) {
    const page = await open('small', '', {colorScheme});
    grounds.push(await colourOf(page, 'html', 'backgroundColor'));
    await checkAccess(`${colorScheme}`, page);
    await page.selectOption('#colour', 'state');
    await search(page, 'parse');
    await frame(page, 'main').click();
    await tableIsOf(page, 'Wall clock, in main: ', ' functions that match');
    await checkAccess(`${colorScheme}, zoomed and searched`, page);
    await page.selectOption('#theme', colorScheme === 'light' ? 'dark' : 'light');
    grounds.push(await colourOf(page, 'html', 'backgroundColor'));
    await checkAccess(`${colorScheme} turned over`, page);
    await close('small', page);
  }
  check(`two themes: ${grounds.join(' ')}`, grounds[0] !== grounds[1] && grounds[0] === grounds[3] && grounds[1] === grounds[2]);
}

export async function runningAndBlockedDiffer() {
  const page = await open('small', '#colour=state&thread=2');
  const running = await frame(page, 'worker (4003)').evaluate((element) => element.style.getPropertyValue('--share'));
  equal('running share of a worker', running, '20%'); /* 200 of 1,100 ms, in steps of 5 % */
  equal('running share of wait', await frame(page, 'wait').evaluate((element) => element.style.getPropertyValue('--share')), '0%');
  await close('small', page);
}

export async function coloursSayWhatTimeIsSpentOn() {
  const page = await open('waits');
  equal('colours at first', await page.inputValue('#colour'), 'time');
  equal('the legend', (await page.locator('#legend li').allTextContents()).map(plain).join(), 'lock 400.0 ms,running 300.0 ms,file 300.0 ms');
  equal('colour of a lock', await colourIn(page, 'pthread_mutex_lock'), 'var(--spent-lock)');
  equal('colours of what waits and runs', await colourIn(page, 'append'),
        'linear-gradient(to right, var(--spent-lock) 0.0% 40.0%, var(--spent-running) 40.0% 70.0%, var(--spent-file) 70.0% 100.0%)');
  await frame(page, 'fsync').hover();
  equal('in words', await textOf(page, '#spent'), 'file 60.00 %, running 40.00 %');
  for (const [name, colour] of [['pthread_mutex_lock', 'lock'], ['append', 'running']]) {
    check(`a stripe of ${name} is seen`, (await colourOf(page, `#legend .spent-${colour}`, 'backgroundColor')) !== 'rgba(0, 0, 0, 0)');
  }
  await page.selectOption('#colour', 'module');
  equal('modules have their own colours', await colourIn(page, 'append'), '');
  equal('the legend of modules', (await page.locator('#legend li').allTextContents()).join(), 'libc.so.6,app');
  await close('waits', page);
}

/* Idle time is hidden until somebody wants it. */
export async function idleTimeIsHidden() {
  const page = await open('waits');
  const line = 'Hidden: 3.000 s, 75.00 % of Wall clock, in which threads wait for work.';
  equal('how much', await textOf(page, '#hidden'), line);
  equal('what is shown of it', await page.getAttribute('#total-wall', 'value'), '1000000000');
  equal('off-CPU time', await page.getAttribute('#total-offcpu', 'value'), '700000000');
  equal('samples', await page.getAttribute('#total-samples', 'value'), '100');
  equal('width of serve', await widthOf(page, 'serve'), '100%');
  equal('frames of the pool', await frame(page, 'pop').count(), 0);
  await tableIsOf(page, 'Wall clock: 4 of 4', ' functions');
  await checkAccess('idle time hidden', page);
  await page.selectOption('#thread', 'each');
  equal('threads that are not idle', (await page.locator('.frame[aria-level="2"]').allTextContents()).join(), 'app (5001)');
  await page.selectOption('#thread', {label: 'pool × 2'});
  await page.selectOption('#member', {label: 'pool (5002)'});
  equal('of one idle thread', await textOf(page, '#hidden'), 'Hidden: 1.500 s, 100 % of Wall clock, in which threads wait for work.');
  equal('nothing is left of it', await page.getAttribute('#total-wall', 'value'), '0');
  await page.selectOption('#thread', 'all');
  await frame(page, 'append').click();
  await page.focus('#idle');
  await press(page, 'Space');
  equal('nothing is hidden', await textOf(page, '#hidden'), '');
  equal('all of it', await page.getAttribute('#total-wall', 'value'), String(totalsOf('waits').wall));
  equal('the link', JSON.stringify(await stateOf(page)), '{"zoom":"2","idle":"shown"}');
  check('the zoom stays', (await textOf(page, '#zoomed')).startsWith('Zoomed to append'));
  await press(page, 'Escape');
  equal('Escape shows all', await textOf(page, '#zoomed'), '');
  equal('width of serve among all', await widthOf(page, 'serve'), '25%');
  equal('colour of the pool', await colourIn(page, 'pop'), 'var(--spent-idle)');
  await checkAccess('idle time shown', page);
  await page.check('#event-cpu', {force: true});
  await page.uncheck('#idle');
  equal('no CPU time is idle', await textOf(page, '#hidden'), '');
  await close('waits', page);
  const linked = await open('waits', '#idle=shown&event=samples');
  equal('by a link', await linked.getAttribute('#total-samples', 'value'), String(totalsOf('waits').samples));
  await close('waits', linked);
}

/* The details never lie over the graph. */
export async function theGraphHasRoom() {
  const page = await open('large');
  const boxOf = (selector) => page.locator(selector).boundingBox();
  const graph = await boxOf('#scroll'), panel = await boxOf('#detail');
  check(`what is above the graph: ${graph.y}`, graph.y <= 120);
  check(`the graph's height: ${graph.height}`, graph.height > 600);
  check('details are beside it', panel.x >= graph.x + graph.width && panel.y < graph.y + graph.height);
  await page.locator('.frame[aria-level="2"]').first().click();
  await search(page, 'handle_1');
  check('nor does what is said move it', (await boxOf('#scroll')).y <= 120);
  await noNumberIsLong('zoomed', page);
  for (const width of [1600, 1080, 970, 800, 600]) {
    await page.setViewportSize({width, height: 900});
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(`nothing sticks out of ${width}: ${wide}`, wide <= width);
  }
  await page.setViewportSize({width: 390, height: 844});
  const small = await boxOf('#scroll');
  check('on a phone they are below it', (await boxOf('#detail')).y >= small.y + small.height);
  check(`what is above the graph of a phone: ${small.y}`, small.y < 844 / 2);
  await checkAccess('phone', page);
  await close('large', page);
}

export async function aNarrowWindowWillDo() {
  const page = await open('small', '', {viewport: {width: 340, height: 640}});
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  check(`nothing sticks out: ${wide}`, wide <= 340);
  await checkAccess('narrow', page);
  await page.setViewportSize({width: 700, height: 640});
  equal('width of all', await widthOf(page, 'all'), '100%');
  await close('small', page);
}

export async function anOldBrowserIsTold() {
  const context = await browser.newContext();
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  await page.addInitScript(() => { delete window.DecompressionStream; });
  await page.goto(`file://${pages}/small.html`);
  await page.waitForSelector('#failure:not([hidden])');
  check('an old browser is not named', (await page.textContent('#failure')).startsWith('This browser is too old for this page.'));
  await context.close();
}

/* It reads base64 by the page's own means, and shows the same. */
export async function aBrowserOfYesterdayWillDo() {
  const context = await browser.newContext();
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  await page.addInitScript(() => { delete Uint8Array.fromBase64; });
  await page.goto(`file://${pages}/small.html`);
  await page.waitForSelector('.frame');
  equal('CPU time', await page.getAttribute('#total-cpu', 'value'), String(totalsOf('small').cpu));
  await context.close();
}

export async function itPrints() {
  const page = await open('deep');
  await page.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
  await page.emulateMedia({media: 'print'});
  check('controls are not printed', !await page.isVisible('#search'));
  check('rows out of sight are', await page.locator('.frame').count() >= 3000);
  await close('deep', page);
}
