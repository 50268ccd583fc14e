/*
 * viewers.mjs [--rounds=N] [--converter=JAR] [--pprof=NAME=PROGRAM]... MODULES DIRECTORY STACKS...
 *
 * Opens the same stacks in viewers of profiles, in Chromium, in turns, and prints a table of medians. DIRECTORY/STACKS has
 * stacks.html and stacks.pb.gz of so many stacks (html_pages). MODULES has playwright-core, axe-core and speedscope.
 * JAR is async-profiler's converter, jfr-converter.jar; without it there is no column for its page.
 * CHROMIUM is the browser, WALLPROF the tool.
 *
 * CPU time is read from /proc: of the page's main thread, and of all processes of the browser. Each figure is of all that
 * is done until the main thread has been idle for some time. SIGTERM ends the run after the visit that is under way,
 * and the table has what was measured until then.
 */
import {execFileSync, spawn} from 'node:child_process';
import {mkdirSync, readFileSync, readdirSync, statSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {createServer} from 'node:net';
import {cpus, loadavg} from 'node:os';
import {join, resolve} from 'node:path';

const options = process.argv.slice(2).filter((argument) => argument.startsWith('--'));
const [modules, directory, ...sizes] = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const optionsOf = (name) => options.filter((option) => option.startsWith(`--${name}=`)).map((option) => option.slice(name.length + 3));
const ROUNDS = Number(optionsOf('rounds')[0] ?? 3);
const [CONVERTER] = optionsOf('converter');
const {chromium} = createRequire(join(resolve(modules), 'x'))('playwright-core');
const axe = readFileSync(join(modules, 'axe-core', 'axe.min.js'), 'utf8');
const speedscope = resolve(modules, 'speedscope');

const TERM = 'handle_123';
const LEVEL = 4; /* of the frame that is zoomed to, where the frame of all is the first */
const SIZE = {width: 1280, height: 900};
const LIMIT_MS = 300000;
const IDLE_MS = 700; /* pprof begins a search 300 ms after the last key, and its zoom of 2021 moves for 750 ms */
const IDLE_SHARE = 0.03;
const HERTZ = 100; /* of /proc/PID/stat */

/* ---- CPU time and memory, as the kernel says ---- */

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const mainThreadMs = (pid) => Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

function statOf(pid) {
  try {
    const words = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return {parent: Number(words[1]), ms: (Number(words[11]) + Number(words[12])) * 1000 / HERTZ,
            msOfChildren: (Number(words[13]) + Number(words[14])) * 1000 / HERTZ};
  } catch {
    return {parent: 0, ms: 0, msOfChildren: 0};
  }
}

/* Of a process and all below it. */
function familyMs(root) {
  const all = new Map(readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map((name) => [Number(name), statOf(name)]));
  const isBelow = (pid) => pid === root || (all.has(pid) && isBelow(all.get(pid).parent));
  let sum = 0;
  for (const [pid, {ms}] of all)
    sum += isBelow(pid) ? ms : 0;
  return sum;
}

const rssMB = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1000;
const peakMB = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1000;

function machineMs() {
  const [user, nice, system, , , irq, softirq] = readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq) * 1000 / HERTZ;
}

const ownMs = () => {
  const {ms, msOfChildren} = statOf(process.pid);
  return ms + msOfChildren;
};

/* ---- the viewers ---- */

const megabytes = (file) => statSync(file).size / 1e6;
const files = (size) => join(resolve(directory), size);

/* One line for each stack, weighed in ns. wallprof's own folded file has ms. */
function writeFolded(size) {
  const json = execFileSync(process.env.WALLPROF, ['top', '--json', '--stacks', '--idle', join(files(size), 'stacks.pb.gz')], {maxBuffer: 1 << 30});
  const {frames, stacks} = JSON.parse(json.toString());
  const nameOf = (frame) => frames[frame].function.replaceAll(';', ':');
  const lines = stacks.map(({frames: stack, values}) => `${stack.toReversed().map(nameOf).join(';')} ${values.wall_ns}\n`);
  writeFileSync(join(files(size), 'stacks.collapsed'), lines.join(''));
  return lines.length;
}

const freePort = () => new Promise((done) => {
  const server = createServer().listen(0, '127.0.0.1', () => {
    const {port} = server.address();
    server.close(() => done(port));
  });
});

async function startPprof(program, size) {
  const port = await freePort();
  const server = spawn(program, [`-http=127.0.0.1:${port}`, '-no_browser', '-symbolize=none', join(files(size), 'stacks.pb.gz')], {stdio: 'ignore'});
  for (let tries = 0; tries < 600; tries++) {
    if (await fetch(`http://127.0.0.1:${port}/nothing`).then(() => true, () => false))
      return {server, port};
    await pause(100);
  }
  throw new Error(`${program} does not serve`);
}

const typeInto = (selector) => ({
  begin: (page) => page.focus(selector),
  end: (page) => page.fill(selector, '')
});

const wallprofPage = {
  name: 'wallprof',
  open: (size) => ({url: `file://${files(size)}/stacks.html`, sizeMB: megabytes(join(files(size), 'stacks.html'))}),
  isShown: () => document.querySelector('.frame') !== null,
  search: typeInto('#search'),
  frameAt: (page) => page.locator(`.frame[aria-level="${LEVEL}"]`).first().evaluate((element) => {
    const {left, top} = element.getBoundingClientRect();
    return [left + 4, top + 8];
  }),
};

/* As its command opens a file: a script with the file in base64. The view is that in which stacks are merged. */
const speedscopePage = {
  name: `speedscope ${JSON.parse(readFileSync(join(speedscope, 'package.json'), 'utf8')).version}`,
  prepare: (size) => {
    const text = readFileSync(join(files(size), 'stacks.pb.gz')).toString('base64');
    writeFileSync(join(files(size), 'speedscope.js'), `speedscope.loadFileFromBase64("stacks.pb.gz", "${text}")`);
  },
  open: (size) => {
    const release = join(speedscope, 'dist', 'release');
    const program = readdirSync(release).filter((name) => /^speedscope-.*\.(js|css)$|^index.html$|\.woff2$/.test(name));
    const script = join(files(size), 'speedscope.js');
    return {url: `file://${release}/index.html#localProfilePath=${script}&view=left-heavy`,
            sizeMB: megabytes(script) + program.reduce((sum, name) => sum + megabytes(join(release, name)), 0)};
  },
  isShown: () => / - speedscope$/.test(document.title) && document.querySelector('canvas') !== null,
  search: {
    begin: async (page) => {
      await page.keyboard.press('Control+f');
      await page.waitForSelector('input:not([type])');
    },
    end: (page) => page.keyboard.press('Escape')
  },
  /* Below the bar, the small map and the scale. There is no frame of all. */
  frameAt: () => [8, 143 + 20 * (LEVEL - 2) + 10],
  clicks: 2
};

const pprofPage = (name, program) => ({
  name,
  open: async (size) => {
    const {server, port} = await startPprof(program, size);
    return {server, url: `http://127.0.0.1:${port}/ui/flamegraph`};
  },
  isShown: () => document.querySelector('.boxbg, .d3-flame-graph rect') !== null,
  search: typeInto('#search'),
  frameAt: async (page) => {
    const places = await page.locator('.boxbg, .d3-flame-graph g.frame').evaluateAll((all) => all.map((element) => {
      const {left, top, width} = element.getBoundingClientRect();
      return {left, top, width};
    }));
    const rows = [...new Set(places.map(({top}) => Math.round(top)))].sort((a, b) => a - b);
    const {left, top} = places.filter(({top, width}) => Math.round(top) === rows[LEVEL - 1] && width > 8).sort((a, b) => a.left - b.left)[0];
    return [left + 4, top + 8];
  },
});

const asyncProfilerPage = {
  name: 'async-profiler',
  prepare: (size) => execFileSync('java', ['-jar', CONVERTER, join(files(size), 'stacks.collapsed'), join(files(size), 'async-profiler.html')]),
  open: (size) => ({url: `file://${files(size)}/async-profiler.html`, sizeMB: megabytes(join(files(size), 'async-profiler.html'))}),
  /* The frames are a script at the end of the page. */
  isShown: () => document.readyState === 'complete',
  search: {whole: (page) => page.keyboard.press('Control+f'), end: (page) => page.keyboard.press('Escape')},
  frameAt: async (page) => {
    const y = await page.evaluate((level) => {
      scrollTo(0, document.body.scrollHeight);
      const {top, height} = document.getElementById('canvas').getBoundingClientRect();
      return top + height - 16 * (level - 1) - 8;
    }, LEVEL);
    return [60, y];
  },
};

/* What a page costs in which nothing is. */
const emptyPage = {
  name: 'an empty page',
  open: () => {
    writeFileSync(join(resolve(directory), 'empty.html'), '<!DOCTYPE html><title>empty</title><p>empty');
    return {url: `file://${resolve(directory)}/empty.html`, sizeMB: 0};
  },
  isShown: () => document.readyState === 'complete',
};

const pprofs = optionsOf('pprof').map((option) => pprofPage(...option.split(/=(.*)/s, 2)));
const viewers = [wallprofPage, speedscopePage, ...pprofs, ...(CONVERTER ? [asyncProfilerPage] : []), emptyPage];

/* ---- one visit ---- */

/* Runs on the page before its own scripts: says when what is wanted had been painted. */
const watch = (isShown) => `(() => {
  const isShown = ${isShown};
  const look = () => isShown() ? requestAnimationFrame(() => setTimeout(() => { window.shownMs = performance.now(); }, 0)) : requestAnimationFrame(look);
  requestAnimationFrame(look);
})()`;

async function untilIdle(pid) {
  for (let last = mainThreadMs(pid), began = Date.now(); Date.now() - began < LIMIT_MS;) {
    await pause(IDLE_MS);
    const now = mainThreadMs(pid);
    if (now - last < IDLE_MS * IDLE_SHARE)
      return;
    last = now;
  }
}

/* CPU time of the main thread, which is idle, for what is done, until it is idle again. */
async function costOf(pid, act) {
  const before = mainThreadMs(pid);
  await act();
  await untilIdle(pid);
  return mainThreadMs(pid) - before;
}

async function processesOf(browser) {
  const session = await browser.newBrowserCDPSession();
  const {processInfo} = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const pidsOf = (wanted) => processInfo.filter(({type}) => type === wanted).map(({id}) => id);
  return {root: pidsOf('browser')[0], renderers: pidsOf('renderer')};
}

const mainThreadsMs = (pids) => new Map(pids.map((pid) => [pid, mainThreadMs(pid)]));

/* Chromium has renderers for itself, too. That of the page is the one that works when the page does. */
async function rendererOf(page, pids) {
  const before = mainThreadsMs(pids);
  await page.evaluate(() => { for (const end = performance.now() + 200; performance.now() < end;); });
  const after = mainThreadsMs(pids);
  return pids.toSorted((a, b) => after.get(b) - before.get(b) - (after.get(a) - before.get(a)))[0];
}

async function photograph(page, {name}, size, what) {
  if (process.env.PICTURES)
    await page.screenshot({path: join(process.env.PICTURES, `${name.replaceAll(' ', '-')}-${size}-${what}.png`)});
}

async function visit(viewer, size) {
  const figures = {};
  const {url, sizeMB, server} = await viewer.open(size);
  const serverBefore = server ? statOf(server.pid).ms : 0;
  const browser = await chromium.launch({executablePath: process.env.CHROMIUM, handleSIGTERM: false, args: ['--no-sandbox', '--disable-dev-shm-usage']});
  try {
    const page = await (await browser.newContext({viewport: SIZE})).newPage();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Network.enable');
    await cdp.send('Performance.enable');
    let bytes = 0, requests = 0;
    cdp.on('Network.loadingFinished', ({encodedDataLength}) => { bytes += encodedDataLength; });
    page.on('request', (request) => { requests += /^https?:/.test(request.url()); });
    page.on('dialog', (dialog) => dialog.accept(TERM));
    page.setDefaultTimeout(LIMIT_MS);
    await page.addInitScript(watch(viewer.isShown));
    const {root} = await processesOf(browser);
    const before = familyMs(root);
    await page.goto(url);
    await page.waitForFunction(() => window.shownMs);
    const {renderers} = await processesOf(browser);
    const atFirst = mainThreadsMs(renderers);
    figures.firstWall = await page.evaluate(() => window.shownMs);
    for (const each of renderers)
      await untilIdle(each);
    const atIdle = mainThreadsMs(renderers);
    figures.allCpu = familyMs(root) - before;
    figures.serverCpu = server ? statOf(server.pid).ms - serverBefore : NaN;
    const pid = await rendererOf(page, renderers);
    figures.firstCpu = atFirst.get(pid);
    figures.idleCpu = atIdle.get(pid);
    figures.size = server ? bytes / 1e6 : sizeMB;
    figures.peak = peakMB(pid);
    await cdp.send('HeapProfiler.collectGarbage');
    const {metrics} = await cdp.send('Performance.getMetrics');
    figures.heap = metrics.find(({name}) => name === 'JSHeapUsedSize').value / 1e6;
    figures.rss = rssMB(pid);
    if (!viewer.search)
      return figures;
    await photograph(page, viewer, size, 'first');
    await search(viewer, page, pid, figures);
    await photograph(page, viewer, size, 'found');
    await viewer.search.end(page);
    await untilIdle(pid);
    const [x, y] = await viewer.frameAt(page);
    await page.mouse.move(x, y);
    await untilIdle(pid);
    figures.zoom = await costOf(pid, () => page.mouse.click(x, y, {clickCount: viewer.clicks ?? 1}));
    await photograph(page, viewer, size, 'zoomed');
    await page.evaluate(axe);
    const {violations} = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
    figures.violations = violations.length;
    figures.rules = violations.map(({id}) => id).join(' ');
    figures.requests = requests;
    return figures;
  } finally {
    await browser.close();
    server?.kill();
  }
}

/* The first key matches every function, the last ones few. What stands between is typed without being measured. */
async function search(viewer, page, pid, figures) {
  if (viewer.search.whole) {
    figures.firstKey = figures.key = await costOf(pid, () => viewer.search.whole(page));
    return;
  }
  await viewer.search.begin(page);
  await untilIdle(pid);
  figures.firstKey = await costOf(pid, () => page.keyboard.press(TERM[0]));
  for (const key of TERM.slice(1, -3))
    await page.keyboard.press(key);
  await untilIdle(pid);
  const keys = [];
  for (const key of TERM.slice(-3))
    keys.push(await costOf(pid, () => page.keyboard.press(key)));
  figures.key = median(keys);
}

/* ---- the table ---- */

function median(values) {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  return sorted.length ? (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2 : NaN;
}

const MB = (value) => `${value < 9.95 ? value.toFixed(1) : value.toFixed(0)} MB`;
const time = (ms) => ms < 999.5 ? `${ms < 9.95 ? ms.toFixed(1) : ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(ms < 9950 ? 2 : 1)} s`;
const count = (value) => String(value);
const ROWS = [
  ['what the browser loads', 'size', MB],
  ['first view: CPU time of the main thread', 'firstCpu', time],
  ['first view: wall time', 'firstWall', time],
  ['until idle: CPU time of the main thread', 'idleCpu', time],
  ['until idle: CPU time of the whole browser', 'allCpu', time],
  ['until idle: CPU time of the server', 'serverCpu', time],
  ['JavaScript heap', 'heap', MB],
  ['memory of the renderer', 'rss', MB],
  ['most memory of the renderer', 'peak', MB],
  ['search: the first key', 'firstKey', time],
  ['search: one of the last keys', 'key', time],
  ['zoom by a click', 'zoom', time],
  ['axe: rules violated', 'violations', count],
  ['requests to a server', 'requests', count],
];

mkdirSync(directory, {recursive: true});
for (const size of sizes) {
  const lines = writeFolded(size);
  if (lines !== Number(size))
    console.error(`${size}: ${lines} stacks in the pprof file`);
  for (const viewer of viewers)
    viewer.prepare?.(size);
}
const began = Date.now(), machineBefore = machineMs(), ownBefore = ownMs();
const results = new Map(sizes.map((size) => [size, new Map(viewers.map((viewer) => [viewer, []]))]));
const lastRules = new Map();
let isStopped = false, rounds = 0;
process.on('SIGTERM', () => { isStopped = true; });
for (; rounds < ROUNDS && !isStopped; rounds++) {
  for (const size of sizes) {
    for (const viewer of viewers) {
      if (isStopped)
        continue;
      const figures = await visit(viewer, size).catch((error) => {
        console.error(`${viewer.name}, ${size}: ${error.message}`);
        return {};
      });
      results.get(size).get(viewer).push(figures);
      lastRules.set(viewer.name, figures.rules ?? lastRules.get(viewer.name));
      console.error(`round ${rounds + 1}, ${size}, ${viewer.name}: ${JSON.stringify(figures)}`);
    }
  }
}
const others = (machineMs() - machineBefore - (ownMs() - ownBefore)) / (Date.now() - began) / cpus().length;
for (const size of sizes) {
  console.log(`\n| ${Number(size).toLocaleString('en')} stacks | ${viewers.map(({name}) => name).join(' | ')} |`);
  console.log(`|---${'|---'.repeat(viewers.length)}|`);
  for (const [title, figure, format] of ROWS) {
    const cells = viewers.map((viewer) => {
      const value = median(results.get(size).get(viewer).map((figures) => figures[figure] ?? NaN));
      return Number.isNaN(value) ? '' : format(value);
    });
    console.log(`| ${title} | ${cells.join(' | ')} |`);
  }
}
for (const [name, rules] of lastRules)
  if (rules)
    console.log(`\naxe, ${name}: ${rules}`);
console.log(`\n${rounds} rounds${isStopped ? ', the last one unfinished,' : ''} in ${Math.round((Date.now() - began) / 60000)} minutes on ${cpus().length} cores (${cpus()[0].model}). ` +
  `Other processes used ${Math.round(100 * Math.max(0, others))} % of the machine meanwhile; the load at the end was ${loadavg()[0].toFixed(1)}.`);
