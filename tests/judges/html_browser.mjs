/*
 * html_page.mjs: a page in Chromium, and what the same profile is by another reader. MODULES has playwright-core and axe-core.
 */
import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

export const [modules, pages] = process.argv.slice(2);
const {chromium} = createRequire(join(modules, 'x'))('playwright-core');
const axe = readFileSync(join(modules, 'axe-core', 'axe.min.js'), 'utf8');
const tests = dirname(fileURLToPath(import.meta.url));

export const MEASURES = ['samples', 'cpu', 'offcpu', 'wall'];
export const TITLES = {samples: 'Samples', cpu: 'CPU', offcpu: 'Off CPU', wall: 'Wall clock'};
export const WAIT_MS = 300000; /* nothing takes so long: who waits longer waits for ever */
export let failures = 0;

export function complain(text) {
  failures++;
  console.log(`FAIL: ${text}`);
}

export function equal(what, found, expected) {
  if (found !== expected)
    complain(`${what} is '${found}', not '${expected}'`);
}

export function check(what, holds) {
  if (!holds)
    complain(what);
}

/* ---- the same profile, by the other reader ---- */

export function readPprof(command, name) {
  const text = execFileSync('/usr/bin/python3', [join(tests, 'pprof_read.py'), command, join(pages, `${name}.pb.gz`)],
                            {encoding: 'utf8', maxBuffer: 1 << 26});
  return text.trim().split('\n').map((line) => line.split(' '));
}

export const totalsOf = (name) => Object.fromEntries(readPprof('totals', name).map(([type, value]) => [type, BigInt(value)]));

/* functions.wall.parse = {self, total} */
export function functionsOf(name) {
  const functions = Object.fromEntries(MEASURES.map((type) => [type, {}]));
  for (const [type, self, total, ...words] of readPprof('functions', name))
    functions[type][words.join(' ')] = {self: BigInt(self), total: BigInt(total)};
  return functions;
}

export const share = (part, whole) => `${(100 * Number(part) / Number(whole)).toFixed(2).replace('100.00', '100')} %`;
export const seconds = (ns) => `${ns / 1000000000n}.${String(ns % 1000000000n).padStart(9, '0')} s`;
/* The page's thin and unbreakable blanks as plain ones, and those between digits not at all. */
export const plain = (text) => text.replace(/\u2009/g, '').replace(/\u00a0/g, ' ');

/* ---- a page ---- */

export const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage']});

export async function open(name, hash = '', options = {}) {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, ...options});
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const url = `file://${join(pages, name)}.html`;
  page.requests = [];
  page.on('request', (request) => page.requests.push(request.url()));
  page.on('pageerror', (error) => complain(`${name}: ${error.stack}`));
  page.on('console', (message) => page.mayBeRefused || complain(`${name}: the console says ${message.text()}`));
  page.on('dialog', (dialog) => complain(`${name}: a dialog says ${dialog.message()}`));
  await context.route(/^(?!file:)/, (route) => route.abort());
  await page.goto(url + hash);
  await page.waitForSelector('.frame');
  return page;
}

export async function close(name, page) {
  equal(`${name}: requests`, page.requests.length, 1);
  await page.context().close();
}

export const textOf = async (page, selector) => plain(await page.textContent(selector));
export const frame = (page, name) => page.locator('.frame', {hasText: new RegExp(`^${name.replace(/[()]/g, '\\$&')}$`)}).first();
export const focused = (page) => page.evaluate(() => document.activeElement.getAttribute('aria-label') ?? document.activeElement.id);
export const nameFocused = async (page) => (await focused(page)).split(',')[0];
export const press = (page, key) => page.keyboard.press(key);
export const stateOf = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
export const widthOf = (page, name) => frame(page, name).evaluate((element) => element.style.width);

/* The narrow ones, which have no text, too. */
export const namesAt = (page, level) => page.locator(`.frame[aria-level="${level}"]`).evaluateAll((all) => all.map((each) => each.ariaLabel.split(',')[0]));

/* Waits for a text, because a search begins a little after the last key. */
export async function says(what, page, selector, expected) {
  const isSaid = ([where, text]) => document.querySelector(where).textContent.replace(/\u2009/g, '').replace(/\u00a0/g, ' ') === text;
  await page.waitForFunction(isSaid, [selector, expected], {timeout: WAIT_MS})
    .catch(async () => complain(`${what} is '${await textOf(page, selector)}', not '${expected}'`));
}

/* Types into the search, and waits until it has been made. */
export async function search(page, text) {
  await page.fill('#search', text);
  await page.waitForFunction((term) => (new URLSearchParams(location.hash.slice(1)).get('search') ?? '') === term, text, {timeout: WAIT_MS});
}

/* The table is made anew some time after the graph; its note, which is written with it, says what of. */
export async function tableIsOf(page, beginning, ending) {
  const isShown = ([begins, ends]) => {
    const {textContent} = document.getElementById('top-note');
    return textContent.startsWith(begins) && textContent.endsWith(ends);
  };
  await page.waitForFunction(isShown, [beginning, ending], {timeout: WAIT_MS});
}

export async function checkAccess(what, page) {
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations']}));
  for (const {id, help, nodes} of violations)
    complain(`${what}: axe ${id}: ${help}: ${nodes.slice(0, 2).map((node) => `${node.html} ${node.failureSummary}`).join('; ')}`);
}

/* Four digits say all that is known. Names, paths and dates are not numbers. */
export async function noNumberIsLong(what, page) {
  const numbers = await page.locator('.events data, .facts dd:not(:has(time)), #values td, #rows td:not(:last-child), #legend li, #found, #hidden').allInnerTexts();
  const long = numbers.filter((text) => /\d{5}/.test(plain(text).replace(/(\d)\.(\d)/g, '$1$2')));
  equal(`${what}: long numbers`, long.join('; '), '');
}

/* Four digits, as the page writes it. */
export const milliseconds = (ns) => {
  const value = Number(ns);
  return value >= 1e9 ? `${(value / 1e9).toPrecision(4)} s` : `${(value / 1e6).toPrecision(4)} ms`;
};

export const colourOf = (page, selector, property) => page.locator(selector).first().evaluate((element, name) => getComputedStyle(element)[name], property);

export const chips = async (page) => (await page.locator('#chips li').allTextContents()).join();

export const colourIn = (page, name) => frame(page, name).evaluate((element) => element.style.getPropertyValue('--colour'));
