/*
 * The strip: the run from left to right, and in each slice what the threads that are shown spend their time on. A range of it is
 * chosen by dragging or by keys. Then everything else on the page is of that range only.
 */

const FIRST_SLICES = 12; /* what the first key chooses */
const PAGE_SLICES = 10;
const DRAG_PX = 4;       /* less is a click */
const RANGE_DELAY_MS = 60;

const strip = byId('strip');
let stripOf = null;      /* what of the state the strip is drawn of */
let stripSpent = [];
let wantedRange = null;  /* chosen by keys, and not yet shown; null: none */
let rangeTimer = 0;
let drag = null;

/* ---- drawing ---- */

const slicesPicture = (paths) => {
  const picture = svgElement('svg', {viewBox: `0 0 ${data.slices.count} 100`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
  picture.append(...paths);
  return picture;
};

/* A bar for each slice and kind, one upon the other from below. Idle time has its room, which is empty while it is hidden. */
function stripPaths(spent) {
  const whole = spent.reduce((sums, column) => column ? sums.map((ns, slice) => ns + column[slice]) : sums, new Float64Array(data.slices.count));
  const tops = new Float64Array(data.slices.count).fill(100);
  return spent.map((column, kind) => {
    const bars = column ? Array.from(column, (ns, slice) => {
      const height = whole[slice] > 0 ? 100 * ns / whole[slice] : 0;
      tops[slice] -= height;
      return height > 0 ? `M${slice} ${tops[slice].toFixed(2)}h1v${height.toFixed(2)}h-1z` : '';
    }) : [];
    return isSpentShown(kind) && bars.some(Boolean) ? svgElement('path', {class: `spent-${SPENT_WORDS[kind]}`, d: bars.join('')}) : null;
  }).filter(Boolean);
}

function drawStrip() {
  const wanted = `${state.thread} ${state.idle}`;
  if (stripOf === wanted)
    return;
  stripOf = wanted;
  stripSpent = spentOfTrees(profile.threads.choice(state.thread).trees);
  strip.replaceChildren(slicesPicture(stripPaths(stripSpent)));
}

/* "0.60 s to 1.80 s: running 50.00 %, lock 50.00 %" */
function momentText(slices, range) {
  const when = isWhole(range) ? `the whole run, ${momentOf(range.end)}` : rangeText(range);
  return `${when}: ${sharesText(spentWithin(slices, range))}`;
}

/* Where the range stands, in the strip and in the map. */
function showBrush(text) {
  const {first, end} = rangeOf(text), {count} = data.slices;
  byId('time').classList.toggle('ranged', text !== '');
  byId('time').style.setProperty('--range-begin', `${100 * first / count}%`);
  byId('time').style.setProperty('--range-width', `${100 * (end - first) / count}%`);
  strip.setAttribute('aria-valuenow', first);
  strip.setAttribute('aria-valuetext', momentText(stripSpent, {first, end}));
  sayMoment(text ? momentText(stripSpent, {first, end}) : 'Drag in the strip to choose a range of time.');
}

/* isByKey: it is read aloud. */
function sayMoment(text, isByKey = false) {
  byId('moment').setAttribute('aria-live', isByKey ? 'polite' : 'off');
  byId('moment').textContent = text;
}

/* Of a slice: of a row of the map, or of all threads that are shown. */
function showMoment(row, slice, isByKey) {
  const text = momentText(row?.slices ?? stripSpent, {first: slice, end: slice + 1});
  sayMoment(row ? `${row.name}, ${text}` : text, isByKey);
}

function showTime() {
  byId('time').hidden = byId('time-keys').hidden = !isTimed();
  if (!isTimed())
    return;
  clearTimeout(rangeTimer);
  wantedRange = null;
  drawStrip();
  showBrush(state.range);
  showMap();
}

/* ---- choosing ---- */

function setRange(text, isNewStep = true) {
  clearTimeout(rangeTimer);
  set('range', text, isNewStep);
}

/* Keys come quickly, and each range takes its time. */
function setRangeSoon(range) {
  wantedRange = textOfRange(range);
  showBrush(wantedRange);
  clearTimeout(rangeTimer);
  rangeTimer = setTimeout(setRange, RANGE_DELAY_MS, wantedRange, false);
}

const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

/* A range further on, as wide as it is. */
function movedRange({first, end}, step) {
  const {count} = data.slices;
  const width = Math.min(isWhole({first, end}) ? FIRST_SLICES : end - first, count);
  const begin = isWhole({first, end}) ? (step > 0 ? 0 : count - width) : clamp(first + step, 0, count - width);
  return {first: begin, end: begin + width};
}

/* A range of another end: wider, or narrower. */
function widenedRange(range, step) {
  const {first, end} = isWhole(range) ? movedRange(range, 1) : range;
  return {first, end: clamp(end + step, first + 1, data.slices.count)};
}

const STEPS = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -PAGE_SLICES, PageUp: PAGE_SLICES, Home: -Infinity, End: Infinity};

function onStripKey(event) {
  const step = STEPS[event.key];
  if (step === undefined || event.ctrlKey || event.altKey || event.metaKey)
    return;
  event.preventDefault();
  const range = rangeOf(wantedRange ?? state.range);
  setRangeSoon(event.shiftKey ? widenedRange(range, step) : movedRange(range, step));
}

/* Returns whether there was anything to clear. */
function clearRange() {
  const isAny = Boolean(wantedRange ?? state.range) || drag !== null;
  drag = null;
  if (isAny)
    setRange('');
  return isAny;
}

/* ---- dragging: in the strip, and in the rows of the map ---- */

function sliceAt(element, x) {
  const {left, width} = element.getBoundingClientRect(), {count} = data.slices;
  return clamp(Math.floor(count * (x - left) / width), 0, count - 1);
}

const draggedRange = ({element, from}, x) => {
  const to = sliceAt(element, x);
  return {first: Math.min(from, to), end: Math.max(from, to) + 1};
};

const slicesOf = (event) => event.target.closest?.('.slices');

function onDragBegin(event) {
  const element = slicesOf(event);
  if (!element || event.button !== 0)
    return;
  element.setPointerCapture(event.pointerId);
  drag = {element, x: event.clientX, from: sliceAt(element, event.clientX), isMoved: false};
}

function onDrag(event) {
  const element = drag?.element ?? slicesOf(event);
  if (!element)
    return;
  if (drag)
    drag.isMoved ||= Math.abs(event.clientX - drag.x) >= DRAG_PX;
  if (drag?.isMoved)
    showBrush(textOfRange(draggedRange(drag, event.clientX)));
  else
    showMoment(rowOfMap(element), sliceAt(element, event.clientX), false);
}

/* A click in the strip takes the range back, and one in a row chooses its thread. */
function onDragEnd(event) {
  if (!drag)
    return;
  const {element, isMoved} = drag, range = draggedRange(drag, event.clientX);
  drag = null;
  if (isMoved)
    setRange(textOfRange(range));
  else if (element === strip)
    clearRange();
  else
    chooseRow(rowOfMap(element));
}

/* It has ended otherwise, or nothing is pointed at. */
function onDragCancel() {
  drag = null;
  showBrush(wantedRange ?? state.range);
}

function makeTime() {
  if (!isTimed())
    return;
  const time = byId('time');
  strip.setAttribute('aria-valuemax', data.slices.count);
  byId('time-begin').textContent = momentOf(0);
  byId('time-end').textContent = momentOf(data.slices.count);
  strip.addEventListener('keydown', onStripKey);
  time.addEventListener('pointerdown', onDragBegin);
  time.addEventListener('pointermove', onDrag);
  time.addEventListener('pointerup', onDragEnd);
  time.addEventListener('pointercancel', onDragCancel);
  time.addEventListener('pointerleave', onDragCancel);
  makeMap();
}
