/* html_page.mjs: what is shown of a profile: views, threads, filters; and what is copied. */
import {MEASURES, WAIT_MS, equal, check, readPprof, totalsOf, functionsOf, share, plain, open, close, textOf, frame,
        nameFocused, press, stateOf, namesAt, says, search, tableIsOf, checkAccess, milliseconds, chips} from './html_browser.mjs';

export async function threadsCanBeTold() {
  const page = await open('small');
  const threads = readPprof('threads', 'small');
  await page.selectOption('#thread', 'each');
  equal('groups', (await namesAt(page, 2)).sort().join(), 'app (4001),worker × 2');
  equal('threads of a group', (await namesAt(page, 3)).filter((name) => name.startsWith('worker')).sort().join(), 'worker (4002),worker (4003)');
  for (const [id, name, ...values] of threads) {
    await page.selectOption('#thread', {label: name === 'app' ? 'app (4001)' : 'worker × 2'});
    if (name !== 'app')
      await page.selectOption('#member', {label: `${name} (${id})`});
    for (const [i, type] of MEASURES.entries())
      equal(`${type} of ${name} (${id})`, await page.getAttribute(`#total-${type}`, 'value'), values[i]);
    equal(`root of ${id}`, await textOf(page, '.frame[aria-level="1"]'), `${name} (${id})`);
  }
  /* The zoom goes along. */
  await page.selectOption('#thread', 'all');
  await frame(page, 'main').click();
  await page.selectOption('#thread', 'each');
  check('zoomed to main in the other tree', (await textOf(page, '#zoomed')).startsWith('Zoomed to main'));
  await close('small', page);
}

export async function threadsAreGrouped() {
  const page = await open('family');
  const options = await page.locator('#thread option').allTextContents();
  equal('the list', options.join(), 'All, merged,All, one by one,app (100), all,app (100): app (100),pool-# × 3,db (200), all,db (200): db (200),io-# × 2');
  equal('processes', (await page.locator('#thread optgroup').evaluateAll((all) => all.map(({label}) => label))).join(), 'app (100),db (200)');
  check('no second list', !await page.isVisible('#member'));
  await page.selectOption('#thread', 'each');
  equal('first processes', (await namesAt(page, 2)).join(), 'db (200) × 3,app (100) × 4');
  equal('then groups', (await namesAt(page, 3)).sort().join(), 'app (100): app (100),db (200): db (200),io-# × 2,pool-# × 3');
  equal('then threads', (await namesAt(page, 4)).filter((name) => name.includes('pool')).sort().join(),
        'app (100): pool-1 (101),app (100): pool-13 (103),app (100): pool-2 (102)');
  await page.selectOption('#thread', {label: 'db (200), all'});
  equal('one process', await page.getAttribute('#total-wall', 'value'), '60000000');
  await page.selectOption('#thread', {label: 'pool-# × 3'});
  equal('one group', await page.getAttribute('#total-wall', 'value'), '30000000');
  equal('its root', (await namesAt(page, 1)).join(), 'pool-# × 3');
  await page.selectOption('#member', {label: 'One by one'});
  equal('one by one', (await namesAt(page, 2)).length, 3);
  equal('the link', JSON.stringify(await stateOf(page)), '{"thread":"e1"}');
  await checkAccess('family', page);
  await page.selectOption('#member', {label: 'app (100): pool-2 (102)'});
  equal('one thread', await page.getAttribute('#total-wall', 'value'), '10000000');
  equal('of the group', await page.locator('#thread option:checked').textContent(), 'pool-# × 3');
  await close('family', page);
}

/* Nor is it waited for: it is not in the graph. */
export async function matchesWithoutTimeAreNotGoneTo() {
  const page = await open('waits', '#event=cpu');
  await frame(page, 'fsync').click();
  await press(page, 'Backspace');
  await search(page, 'pthread_mutex_lock');
  await frame(page, 'fsync').focus();
  await press(page, 'n');
  equal('the only match has no CPU time', await nameFocused(page), 'fsync');
  await close('waits', page);
  const compared = await open('compared');
  await search(compared, 'window.broken');
  await says('what is gone matches', compared, '#found', '1 function matches: 0 ns, 0.00 % of Wall clock, change −100.0 ms, gone.');
  for (const view of ['callees', 'callers']) {
    await compared.selectOption('#view', view);
    await frame(compared, 'copy').click();
    await press(compared, 'Escape');
    await frame(compared, 'copy').focus();
    await press(compared, 'n');
    equal(`${view}: it is not gone to`, await nameFocused(compared), 'copy');
  }
  await close('compared', compared);
}

export async function flamesAreUpsideDown() {
  const page = await open('small');
  const top = async (name) => frame(page, name).evaluate((element) => element.getBoundingClientRect().top);
  check('icicle: the root is on top', await top('all') < await top('main'));
  await page.selectOption('#look', 'flame');
  check('flames: the root is below', await top('all') > await top('main'));
  await close('small', page);
}

export async function callersStandBelowWhatTheyCall() {
  const page = await open('small');
  const functions = functionsOf('small');
  const total = totalsOf('small').wall;
  await page.selectOption('#view', 'callers');
  equal('where all of them are', await textOf(page, '#where'), '');
  equal('the link', JSON.stringify(await stateOf(page)), '{"view":"callers"}');
  const shown = await namesAt(page, 2);
  const expected = Object.entries(functions.wall).filter(([, {self}]) => self > 0n).sort(([, a], [, b]) => Number(b.self - a.self)).map(([name]) => name);
  equal('roots', shown.join(), expected.join());
  for (const name of shown)
    equal(`label of ${name}`, plain(await page.getAttribute(`.frame[aria-level="2"][aria-label^="${name},"]`, 'aria-label')),
          `${name}, ${milliseconds(functions.wall[name].self)} Wall clock, ${share(functions.wall[name].self, total)} of all`);
  await frame(page, 'wait').click();
  equal('callers of wait', (await namesAt(page, 3)).join(), 'parse,main');
  await page.locator('.frame[aria-level="3"]', {hasText: 'main'}).click();
  check('zoomed to a caller', (await textOf(page, '#zoomed')).startsWith('Zoomed to main: 600.0 ms'));
  const hash = await page.evaluate(() => location.hash);
  await checkAccess('callers', page);
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 'i');
  equal('i turns it back', JSON.stringify(await stateOf(page)), '{}');
  equal('focus after i', await nameFocused(page), 'all');
  await press(page, 'i');
  equal('and again', JSON.stringify(await stateOf(page)), '{"view":"callers"}');
  await close('small', page);
  const linked = await open('small', hash);
  check('by a link', (await textOf(linked, '#zoomed')).startsWith('Zoomed to main: 600.0 ms'));
  await tableIsOf(linked, 'Wall clock, in main: 2 of 2', ' functions');
  await search(linked, 'main');
  await press(linked, 'Escape');
  await close('small', linked);
}

export async function aSandwichHasBothSides() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  await page.selectOption('#view', 'sandwich');
  equal('of no function', await textOf(page, '#said'), 'Choose a function first: click its frame.');
  equal('so it is not', await page.inputValue('#view'), 'callees');
  await frame(page, 'item').click();
  await page.click('#sandwich');
  check('what it is of', (await textOf(page, '#zoomed')).startsWith(`Callers and callees of item: ${milliseconds(wall.item.total)}`));
  const top = (name) => frame(page, name).evaluate((element) => element.getBoundingClientRect().top);
  const rows = async () => [await page.locator('.frame', {hasText: 'main'}).first().evaluate((e) => e.getBoundingClientRect().top), await top('item'), await top('copy')];
  const [main, item, copy] = await rows();
  check('callers are above, callees below', main < item && item < copy);
  equal('callers, and callees', (await namesAt(page, 2)).join(), 'parse,parse');
  await page.selectOption('#look', 'flame');
  const [main2, item2, copy2] = await rows();
  check('flames are upside down', main2 > item2 && item2 > copy2);
  await page.selectOption('#look', 'icicle');
  await page.locator('.frame[tabindex="0"]').focus();
  equal('focus', await nameFocused(page), 'item');
  await press(page, 'ArrowUp');
  await press(page, 'ArrowUp');
  equal('up and up to the caller', await nameFocused(page), 'main');
  await press(page, 'Enter');
  check('zoomed to it', (await textOf(page, '#zoomed')).startsWith('Zoomed to main: '));
  await checkAccess('sandwich', page);
  const hash = await page.evaluate(() => location.hash);
  await press(page, 's');
  check('a sandwich of main', (await textOf(page, '#zoomed')).startsWith(`Callers and callees of main: ${milliseconds(wall.main.total)}`));
  await page.goBack();
  await says('back', page, '#zoomed', `Zoomed to main: 150.5 ms, ${share(150500000, totalsOf('small').wall)} of all.`);
  await close('small', page);
  const linked = await open('small', hash);
  check('by a link', (await textOf(linked, '#zoomed')).startsWith('Zoomed to main: 150.5 ms'));
  await close('small', linked);
}

/* What was copied is pasted into the search, as a person would. */
export async function namesStacksAndLinksAreCopied() {
  const page = await open('small', '', {permissions: ['clipboard-read', 'clipboard-write']});
  const copied = async (what) => {
    await page.click(`[data-copy="${what}"]`);
    await says(`said of the ${what}`, page, '#said', `Copied the ${what}.`);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await frame(page, 'item').click();
  equal('name', await copied('name'), 'item');
  equal('stack', await copied('stack'), 'main\nparse\nitem');
  equal('link', await copied('link'), page.url());
  await page.selectOption('#view', 'callers');
  await frame(page, 'wait').click();
  await page.locator('.frame[aria-level="3"]', {hasText: 'main'}).click();
  equal('stack of a caller', await copied('stack'), 'main\nwait');
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 'y');
  await says('by a key', page, '#said', 'Copied the name.');
  equal('the focus stays', await nameFocused(page), 'main');
  equal('name by a key', await page.evaluate(() => navigator.clipboard.readText()), 'main');
  await close('small', page);
}

export async function framesCanBeHidden() {
  const page = await open('small');
  await frame(page, 'main').click();
  await page.click('[data-filter="h"]');
  equal('chips', await chips(page), 'without main×');
  equal('the link', JSON.stringify(await stateOf(page)).replace(/\d+/, 'N'), '{"filters":"hN"}');
  equal('frames of it', await frame(page, 'main').count(), 0);
  equal('roots', (await namesAt(page, 2)).join(), 'parse,wait');
  equal('no time is lost', await page.getAttribute('#total-wall', 'value'), String(totalsOf('small').wall));
  await page.locator('.frame[aria-level="2"]', {hasText: 'parse'}).click();
  const label = plain(await page.getAttribute('.frame[aria-level="2"]', 'aria-label'));
  check(`parse of all threads is one: ${label}`, label.startsWith(`parse, ${milliseconds(functionsOf('small').wall.parse.total)}`));
  const hash = await page.evaluate(() => location.hash);
  await checkAccess('hidden', page);
  await page.click('#chips button');
  equal('taken back', await chips(page), '');
  await press(page, 'Escape');
  check('main is there again', await frame(page, 'main').count() === 1);
  await page.goBack();
  await page.goBack();
  await page.waitForSelector('#chips button', {timeout: WAIT_MS});
  await close('small', page);
  const linked = await open('small', hash);
  equal('by a link', await chips(linked), 'without main×');
  await linked.locator('.frame[tabindex="0"]').focus();
  await press(linked, 'h');
  equal('by a key', await chips(linked), 'without main×,without parse×');
  await press(linked, 'u');
  equal('and back', await chips(linked), 'without main×');
  await close('small', linked);
  const odd = await open('small', '#filters=h99999.x1&view=sandwich&of=99999');
  equal('an odd link', await chips(odd), '');
  await close('small', odd);
}

export async function stacksCanBeChosen() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  await frame(page, 'item').click();
  await page.click('[data-filter="f"]');
  equal('chips', await chips(page), 'only through item×');
  equal('time of these stacks', await page.getAttribute('#total-wall', 'value'), String(wall.item.total));
  equal('their frames', (await namesAt(page, 3)).join(), 'parse');
  await page.selectOption('#view', 'callers');
  equal('what spends it', (await namesAt(page, 2)).join(), 'copy,item,parse');
  await close('small', page);
}

export async function recursionIsCollapsed() {
  const page = await open('small');
  const {wall} = functionsOf('small');
  await page.locator('.frame[aria-level="3"]', {hasText: 'parse'}).click();
  await page.click('[data-filter="r"]');
  equal('chips', await chips(page), 'parse without recursion×');
  equal('one parse on each stack', await page.locator('.frame[aria-level="5"]').count(), 0);
  equal('copy is called by the outermost', (await namesAt(page, 4)).join(), 'copy,item');
  await page.click('#reset');
  await tableIsOf(page, 'Wall clock: ', ' functions');
  equal('after reset', await chips(page), '');
  await frame(page, 'wait').click();
  await page.click('[data-filter="m"]');
  equal('a library', await chips(page), 'libc.so.6 as one frame×');
  await frame(page, 'main').click();
  await page.click('[data-filter="m"]');
  await page.click('#reset');
  await frame(page, 'main').click();
  await page.locator('.frame[tabindex="0"]').focus();
  await press(page, 'm');
  equal('a program', await chips(page), 'app as one frame×');
  equal('is one frame', (await namesAt(page, 2)).join(), 'app');
  equal('and what it calls', (await namesAt(page, 3)).join(), 'wait');
  const time = plain(await page.getAttribute('.frame[aria-level="3"]', 'aria-label'));
  check(`all of it: ${time}`, time.startsWith(`wait, ${milliseconds(wall.wait.total)}`));
  await close('small', page);
}
