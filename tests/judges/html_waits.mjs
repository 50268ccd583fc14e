/* html_page.mjs: what a frame waits for, and who held that. The page is that of tests/lib/waiting_profile.h. */
import {equal, check, close, frame, open, press, textOf, totalsOf} from './html_browser.mjs';

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
