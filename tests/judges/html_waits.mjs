/* html_page.mjs: what a frame waits for, who held that, and who is blamed for it. The page is that of tests/lib/waiting_profile.h. */
import {equal, check, checkAccess, close, frame, namesAt, nameFocused, noNumberIsLong, open, press, stateOf, textOf, totalsOf} from './html_browser.mjs';

const JOURNAL = 'mutex journal_mutex', TABLE = 'mutex table_lock 16.67 % (held by reader 100 %)';
const OF_APPEND = `Waits for ${JOURNAL} 50.00 % (held by writer-2 83.33 %, reader 6.67 %), file /var/journal 33.33 %, ${TABLE}`;

/* A click zooms, so what is not below is shown again first. */
async function waitsOf(page, name) {
  await page.locator('.frame[aria-level="1"]').first().click();
  await frame(page, name).click();
  return textOf(page, '#waited');
}

export async function aFrameSaysWhatItWaitsFor() {
  const page = await open('waiting');
  equal('append', await waitsOf(page, 'append'), OF_APPEND);
  equal('fsync', await waitsOf(page, 'fsync'), 'Waits for file /var/journal 100 %');
  equal('what runs', await waitsOf(page, 'compute'), '');
  equal('the network, partly known', await waitsOf(page, 'recv'), 'Waits for tcp 10.0.0.7:5432 75.00 %');
  await press(page, 'Escape');
  check('no label is a frame', await page.locator('.frame', {hasText: '{'}).count() === 0);
  equal('all wall time is there', await page.getAttribute('#total-wall', 'value'), String(totalsOf('waiting').wall - 1000000000n));
  await close('waiting', page);
}

export async function viewsAndFiltersSayWhatIsWaitedFor() {
  const page = await open('waiting', '#view=callers');
  equal('as a caller', await waitsOf(page, 'fsync'), 'Waits for file /var/journal 100 %');
  equal('all of its calls', await waitsOf(page, 'pthread_mutex_lock'),
        `Waits for ${JOURNAL} 77.78 % (held by writer-2 85.71 %, reader 5.71 %), mutex table_lock 22.22 % (held by reader 100 %)`);
  await close('waiting', page);
  const hiding = await open('waiting');
  await frame(hiding, 'pthread_mutex_lock').click();
  await press(hiding, 'h');
  equal('its callers get its waits', await waitsOf(hiding, 'append'), OF_APPEND);
  await close('waiting', hiding);
}

export async function hiddenIdleTimeIsNotWaitedFor() {
  const page = await open('waiting');
  check('the pool is hidden', !(await waitsOf(page, 'run')).includes('queue_cond'));
  await page.check('#idle', {force: true});
  equal('and shown', await waitsOf(page, 'pthread_cond_wait'), 'Waits for cond queue_cond 100 %');
  await close('waiting', page);
}

const holders = (page) => page.locator('#waited button');
const zoomedTo = (page) => textOf(page, '#zoomed');

export async function aHolderLeadsToItsStack() {
  const page = await open('waiting');
  await waitsOf(page, 'append');
  equal('only who is blamed can be gone to', (await holders(page).allTextContents()).join(), 'writer-2,reader');
  await holders(page).first().click();
  equal('what writer-2 did', await zoomedTo(page), 'Zoomed to fsync: 400.0 ms, 53.33 % of all.');
  equal('has the focus', await nameFocused(page), 'fsync');
  equal('by its blame', (await stateOf(page)).event, 'blame');
  equal('and its callers', (await namesAt(page, 2)).concat(await namesAt(page, 3)).join(), 'run,append');
  await page.goBack();
  await page.waitForFunction(() => !document.getElementById('zoomed').textContent.includes('fsync'));
  await waitsOf(page, 'append');
  await holders(page).last().focus();
  await press(page, 'Enter');
  equal('a stack that was never sampled', await zoomedTo(page), 'Zoomed to parse: 200.0 ms, 26.67 % of all.');
  await close('waiting', page);
}

export async function aHolderThatIsNotShownIsLookedFor() {
  const page = await open('waiting', '#thread=1&view=callers');
  await waitsOf(page, 'pthread_mutex_lock');
  equal('of writer-1', (await holders(page).allTextContents()).join(), 'writer-2');
  await holders(page).first().click();
  equal('in another thread', await zoomedTo(page), 'Zoomed to fsync: 400.0 ms, 53.33 % of all.');
  equal('all are shown', JSON.stringify(await stateOf(page)).includes('thread'), false);
  await close('waiting', page);
  const hiding = await open('waiting');
  await frame(hiding, 'fsync').click();
  await press(hiding, 'h');
  await waitsOf(hiding, 'append');
  await holders(hiding).first().click();
  equal('its callers have its blame', await zoomedTo(hiding), 'Zoomed to append: 400.0 ms, 53.33 % of all.');
  await close('waiting', hiding);
}

export async function blameIsAMeasure() {
  const page = await open('waiting', '#event=blame');
  equal('all of it', await page.getAttribute('#total-blame', 'value'), String(totalsOf('waiting').blame));
  equal('of all', await textOf(page, '#blamed'), 'Others waited 750.0 ms for it: mutex journal_mutex 73.33 %, mutex table_lock 26.67 %');
  equal('what is blamed', (await namesAt(page, 3)).join(), 'append,serve,compute');
  await frame(page, 'fsync').click();
  equal('of a frame', await textOf(page, '#blamed'), 'Others waited 400.0 ms for it: mutex journal_mutex 100 %');
  equal('who waits is not to blame', await frame(page, 'pthread_mutex_lock').count(), 0);
  await press(page, 'i');
  equal('of callers', (await namesAt(page, 2)).join(), 'fsync,parse,compute');
  await noNumberIsLong('blame', page);
  await checkAccess('blame', page);
  await close('waiting', page);
  const other = await open('small');
  equal('nobody is blamed', await other.locator('#event-blame').count(), 0);
  await close('small', other);
}
