/*
 * The page's program, first of its parts, which become one script in the order of scripts/html-page. Here: constants, and
 * numbers for people.
 *
 * Every name, path and command line is somebody else's text. It only ever becomes text content, or the value of a
 * harmless attribute.
 */
'use strict';
(() => {

const MEASURES = ['wall', 'cpu', 'offcpu', 'samples']; /* and rundelay, where it is known; blame, where there is any */
const TITLES = {wall: 'Wall clock', cpu: 'CPU', offcpu: 'Off CPU', rundelay: 'Waiting for a CPU', blame: 'Blame', samples: 'Samples'};
const UNITS = {wall: 'nanoseconds', cpu: 'nanoseconds', offcpu: 'nanoseconds', rundelay: 'nanoseconds', blame: 'nanoseconds', samples: 'count'};
const COLUMN = {samples: 0, cpu: 1, offcpu: 2, wall: 3, rundelay: 4, blame: 5}; /* in totals, and in columns of values */
const COLUMNS = 6;
const AFTER = 0, BEFORE = 1;  /* the recordings of a comparison; without one there is only the first */
const ROW_PX = 21;
const NARROWEST_PX = 1;     /* narrower frames are not shown */
const NARROWEST_ELEMENT_PX = 8; /* narrower ones are painted: see narrow.js */
const NARROWEST_TEXT_PX = 28;
const FRAMES_MAX = 3000;    /* at most so many are drawn at a time, the widest ones */
const PALETTE = 9;          /* modules with a colour of their own */
const ROWS_STEP = 25;       /* rows of the table that are shown at first */
const DEFAULTS = {event: 'wall', thread: 'all', view: 'callees', of: '', zoom: '0', search: '', look: 'icicle', colour: 'time', idle: 'hidden', filters: '',
                  side: 'after', scale: 'time', units: '1,1', theme: 'auto', sort: 'self', range: '', 'range-before': '', map: 'hidden'};

/* What time is spent on: words of the style, and for people. All but the first are words of the data's `waits`. */
const SPENT = {running: 'running', cpu: 'waiting for a CPU', lock: 'lock', condition: 'condition', file: 'file',
               network: 'network', poll: 'poll', child: 'child', sleep: 'sleep', other: 'other', stopped: 'stopped', 'not-seen': 'not seen',
               idle: 'idle'};
const SPENT_WORDS = Object.keys(SPENT);
const RUNNING = 0, FOR_CPU = 1, IDLE = SPENT_WORDS.indexOf('idle');

const byId = (id) => document.getElementById(id);

function svgElement(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes))
    element.setAttribute(key, value);
  return element;
}

/* ---- numbers for people ---- */

const groupDigits = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u2009');

/* Nothing is shown with more than four digits. */
const formatDigits = (value) => value >= 1000 ? groupDigits(value.toFixed(0)) : value.toPrecision(4);

/* Units of time, and from how many ns on each is used. */
const TIMES = [['d', 864e11, 36e15], ['h', 36e11, 9999.5e9], ['s', 1e9, 1e9], ['ms', 1e6, 1e6], ['µs', 1e3, 1e3], ['ns', 1, 0]];
const unitOf = (ns) => TIMES.find(([, , least]) => ns >= least) ?? TIMES.at(-1);

/* 4.183 s, 12.34 ms */
function formatTime(ns) {
  const [unit, size] = unitOf(ns);
  return `${size === 1 ? Math.round(ns) : formatDigits(ns / size)}\u00a0${unit}`;
}

/* 1 234, 12.35 k */
function formatCount(count, unit = '') {
  for (const [prefix, size] of [['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]]) {
    if (count >= size && count >= 9999.5)
      return `${formatDigits(count / size)}\u00a0${prefix}${unit}`;
  }
  return groupDigits(String(Math.round(count))) + (unit && `\u00a0${unit}`);
}

function formatValue(measure, value) {
  const unit = UNITS[measure];
  return unit === 'nanoseconds' ? formatTime(value) : formatCount(value, unit === 'count' ? '' : unit === 'bytes' ? 'B' : unit);
}

/* The exact value, for whoever points at a rounded one. */
function formatExact(measure, digits) {
  if (UNITS[measure] !== 'nanoseconds')
    return groupDigits(digits) + (UNITS[measure] === 'count' ? '' : `\u00a0${UNITS[measure]}`);
  const padded = digits.padStart(10, '0');
  return `${groupDigits(padded.slice(0, -9))}.${padded.slice(-9)}\u00a0s`;
}

/* Another program's profile has one measure of its own. Nothing is known of waits and of chance. */
function takeMeasure(type, unit) {
  MEASURES.splice(0, MEASURES.length, 'wall');
  TITLES.wall = type;
  UNITS.wall = unit;
  DEFAULTS.colour = 'module';
}

/* ---- error bars: src/tool/report/report_error.h has the reasons ---- */

const SAMPLES_MIN = 5; /* with fewer there is no telling */
const END_OF_ONE_TICK = 1 / 5, END_OF_MANY = 1 / 3;

/* So much chance can have moved times in 95 of 100 recordings; NaN: too few samples. */
function errorBars(values, near, far, periodNs) {
  const [samples, cpu, , wall] = values;
  if (samples < SAMPLES_MIN)
    return {wall: NaN, cpu: NaN, offcpu: NaN};
  const ticks = Math.max(wall / samples / periodNs, 1);
  const end = END_OF_MANY - (END_OF_MANY - END_OF_ONE_TICK) / (ticks * ticks);
  const isShort = near > 0 ? Math.min(Math.max(2 - far / near, 0), 1) : 0;
  const bar = 1.96 * Math.sqrt(Math.max(near, 0) * 1e9 * (end + (1 - end) * isShort ** 1.5));
  const cpuShare = wall > 0 ? Math.min(cpu / wall, 1) : 0;
  return {wall: bar, cpu: bar * Math.sqrt(cpuShare), offcpu: bar * Math.sqrt(1 - cpuShare)};
}

/* No digit that is chance: "1.2 s ± 6 %", "400 ms ± ?" for a single sample. */
function formatWithin(ns, error) {
  if (!(ns > 0) || error === 0)
    return formatTime(ns);
  const first = 10 ** Math.floor(Math.log10(ns));
  const place = Math.max(Math.min(Number.isNaN(error) ? first : 10 ** Math.floor(Math.log10(error)), first), first / 1000);
  const rounded = Math.round(ns / place) * place;
  const [unit, size] = unitOf(rounded);
  const digits = Math.min(Math.max(Math.round(Math.log10(size / place)), 0), 3);
  const bar = Number.isNaN(error) ? '?' : `${(100 * error / ns).toPrecision(error < 0.1 * ns ? 1 : 2)}\u00a0%`;
  return `${groupDigits((rounded / size).toFixed(digits))}\u00a0${unit} ±\u00a0${bar}`;
}

function formatShare(part, whole) {
  const percent = (whole > 0 ? 100 * part / whole : 0).toFixed(2);
  return `${percent === '100.00' ? '100' : percent}\u00a0%`;
}
