/*
 * The strip: the run from left to right, and in each slice what the threads that are shown spend their time on. A range of it is
 * chosen by dragging or by keys. Then everything else on the page is of that range only. A comparison has a strip for each recording that
 * has a timeline.
 */

const FIRST_SLICES = 12; /* what the first key chooses */
const PAGE_SLICES = 10;
const DRAG_PX = 4;       /* less is a click */
const RANGE_DELAY_MS = 60;

const strips = []; /* in the order in which they are shown */

/* ---- drawing ---- */

const slicesPicture = (paths, {count}) => {
  const picture = svgElement('svg', {viewBox: `0 0 ${count} 100`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
  picture.append(...paths);
  return picture;
};

/* A bar for each slice and kind, one upon the other from below. threads: so many have the whole height. */
function stripPaths(spent, {count, ns: sliceNs}, threads) {
  const tops = new Float64Array(count).fill(100);
  return spent.map((column, kind) => {
    const bars = column && isSpentShown(kind) ? Array.from(column, (ns, slice) => {
      const height = 100 * ns / (sliceNs * threads);
      tops[slice] -= height;
      return height > 0 ? `M${slice} ${tops[slice].toFixed(2)}h1v${height.toFixed(2)}h-1z` : '';
    }) : [];
    return bars.some(Boolean) ? svgElement('path', {class: `spent-${SPENT_WORDS[kind]}`, d: bars.join('')}) : null;
  }).filter(Boolean);
}

/* ---- ranges ---- */

const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

const STEPS = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -PAGE_SLICES, PageUp: PAGE_SLICES, Home: -Infinity, End: Infinity};

/* The page has the section of one recording. That of BEFORE is the same, and stands above it. */
function sectionOf(side) {
  const section = byId('time');
  if (side === AFTER)
    return section;
  const copy = section.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll('[id]')])
    element.id += '-before';
  byId('show-map').setAttribute('aria-controls', 'map map-before');
  section.before(copy);
  return copy;
}

class Strip {
  constructor(side) {
    this.side = side;
    this.slices = slicesOf(side);
    this.section = sectionOf(side);
    this.element = this.part('strip');
    this.spent = [];
    this.spentOf = null; /* the threads it is of */
    this.drawnOf = null; /* what of the state it is drawn of */
    this.wanted = null;  /* a range chosen by keys, and not yet shown; null: none */
    this.timer = 0;
    this.drag = null;
    this.label();
    this.listen();
    this.map = new ThreadMap(this);
  }

  part(name) {
    return byId(this.side === AFTER ? name : `${name}-before`);
  }

  /* "Before: ": with a comparison's strips it is said which one is meant. */
  get title() {
    return !profile.isCompared ? '' : this.side === AFTER ? 'After: ' : 'Before: ';
  }

  get range() {
    return shownRange(this.side);
  }

  get rangeText() {
    return this.title + rangeText(rangeOf(this.range, this.side), this.side);
  }

  label() {
    const {count} = this.slices;
    this.section.hidden = false;
    for (const element of [this.section, this.element])
      element.setAttribute('aria-label', this.title + element.getAttribute('aria-label'));
    this.element.setAttribute('aria-valuemax', count);
    this.part('time-begin').textContent = this.title + momentOf(0, this.side);
    this.part('time-end').textContent = momentOf(count, this.side);
    this.part('show-map').hidden = this.side !== timedSides().at(-1); /* it is for all of them */
  }

  gather() {
    if (this.spentOf === state.thread)
      return;
    const trees = profile.threads.choice(state.thread).trees.filter((tree) => profile.trees[tree].side === this.side);
    this.spentOf = state.thread;
    this.spent = spentOfTrees(trees, this.side);
  }

  /* How many threads there are in the slice that has most, without those that are idle and hidden. */
  get mostThreads() {
    const sums = this.spent.reduce((sum, column, kind) => column && isSpentShown(kind) ? sum.map((ns, slice) => ns + column[slice]) : sum,
                                   new Float64Array(this.slices.count));
    return sums.reduce((most, ns) => Math.max(most, ns / this.slices.ns), 0);
  }

  draw() {
    const wanted = `${state.thread} ${state.idle}`;
    if (this.drawnOf === wanted)
      return;
    const threads = Math.max(...strips.map(({mostThreads}) => mostThreads)); /* two strips have one scale */
    this.drawnOf = wanted;
    this.element.replaceChildren(slicesPicture(stripPaths(this.spent, this.slices, threads), this.slices));
  }

  show() {
    clearTimeout(this.timer);
    this.wanted = null;
    this.draw();
    this.showBrush(this.range);
    this.map.show();
  }

  /* "0.60 s to 1.80 s: running 50.00 %, lock 50.00 %" */
  momentText(spent, range) {
    const when = isWhole(range, this.side) ? `the whole run, ${momentOf(range.end, this.side)}` : rangeText(range, this.side);
    return `${when}: ${sharesText(spentWithin(spent, range))}`;
  }

  /* Where the range stands, in the strip and in the map. */
  showBrush(text) {
    const range = rangeOf(text, this.side), {count} = this.slices;
    this.section.classList.toggle('ranged', text !== '');
    this.section.style.setProperty('--range-begin', `${100 * range.first / count}%`);
    this.section.style.setProperty('--range-width', `${100 * (range.end - range.first) / count}%`);
    this.element.setAttribute('aria-valuenow', range.first);
    this.element.setAttribute('aria-valuetext', this.momentText(this.spent, range));
    this.say(text ? this.momentText(this.spent, range) : this.hint);
  }

  /* It is said once. */
  get hint() {
    return this === strips[0] ? 'Drag in the strip to choose a range of time.' : '';
  }

  /* isByKey: it is read aloud. */
  say(text, isByKey = false) {
    this.part('moment').setAttribute('aria-live', isByKey ? 'polite' : 'off');
    this.part('moment').textContent = text;
  }

  /* Of a slice: of a row of the map, or of all threads that are shown. */
  showMoment(row, slice, isByKey) {
    const text = this.momentText(row?.slices ?? this.spent, {first: slice, end: slice + 1});
    this.say(row ? `${row.name}, ${text}` : text, isByKey);
  }

  /* ---- choosing ---- */

  setRange(text, isNewStep = true) {
    clearTimeout(this.timer);
    set(RANGE_KEYS[this.side], text, isNewStep);
  }

  /* Keys come quickly, and each range takes its time. */
  setRangeSoon(range) {
    this.wanted = textOfRange(range, this.side);
    this.showBrush(this.wanted);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.setRange(this.wanted, false), RANGE_DELAY_MS);
  }

  /* Returns whether there was anything to clear. */
  clearRange() {
    const isAny = Boolean(this.wanted ?? this.range) || this.drag !== null;
    this.drag = null;
    if (isAny)
      this.setRange('');
    return isAny;
  }

  /* A range further on, as wide as it is. */
  movedRange({first, end}, step) {
    const {count} = this.slices, isAll = isWhole({first, end}, this.side);
    const width = Math.min(isAll ? FIRST_SLICES : end - first, count);
    const begin = isAll ? (step > 0 ? 0 : count - width) : clamp(first + step, 0, count - width);
    return {first: begin, end: begin + width};
  }

  /* A range of another end: wider, or narrower. */
  widenedRange(range, step) {
    const {first, end} = isWhole(range, this.side) ? this.movedRange(range, 1) : range;
    return {first, end: clamp(end + step, first + 1, this.slices.count)};
  }

  onKey(event) {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    const range = rangeOf(this.wanted ?? this.range, this.side);
    this.setRangeSoon(event.shiftKey ? this.widenedRange(range, step) : this.movedRange(range, step));
  }

  /* ---- dragging: in the strip, and in the rows of the map ---- */

  sliceAt(element, x) {
    const {left, width} = element.getBoundingClientRect(), {count} = this.slices;
    return clamp(Math.floor(count * (x - left) / width), 0, count - 1);
  }

  draggedRange({element, from}, x) {
    const to = this.sliceAt(element, x);
    return {first: Math.min(from, to), end: Math.max(from, to) + 1};
  }

  onDragBegin(event) {
    const element = event.target.closest?.('.slices');
    if (!element || event.button !== 0)
      return;
    element.setPointerCapture(event.pointerId);
    this.drag = {element, x: event.clientX, from: this.sliceAt(element, event.clientX), isMoved: false};
  }

  onDrag(event) {
    const {drag} = this, element = drag?.element ?? event.target.closest?.('.slices');
    if (!element)
      return;
    if (drag)
      drag.isMoved ||= Math.abs(event.clientX - drag.x) >= DRAG_PX;
    if (drag?.isMoved)
      this.showBrush(textOfRange(this.draggedRange(drag, event.clientX), this.side));
    else
      this.showMoment(this.map.rowOf(element), this.sliceAt(element, event.clientX), false);
  }

  /* A click in the strip takes the range back, and one in a row chooses its thread. */
  onDragEnd(event) {
    if (!this.drag)
      return;
    const {element, isMoved} = this.drag, range = this.draggedRange(this.drag, event.clientX);
    this.drag = null;
    if (isMoved)
      this.setRange(textOfRange(range, this.side));
    else if (element === this.element)
      this.clearRange();
    else
      chooseRow(this.map.rowOf(element));
  }

  /* It has ended otherwise, or nothing is pointed at. */
  onDragCancel() {
    this.drag = null;
    this.showBrush(this.wanted ?? this.range);
  }

  listen() {
    const {section} = this;
    this.element.addEventListener('keydown', (event) => this.onKey(event));
    section.addEventListener('pointerdown', (event) => this.onDragBegin(event));
    section.addEventListener('pointermove', (event) => this.onDrag(event));
    section.addEventListener('pointerup', (event) => this.onDragEnd(event));
    section.addEventListener('pointercancel', () => this.onDragCancel());
    section.addEventListener('pointerleave', () => this.onDragCancel());
  }
}

/* ---- all of them ---- */

function showTime() {
  strips.forEach((strip) => strip.gather());
  strips.forEach((strip) => strip.show());
}

/* Returns whether there was anything to clear. */
const clearRanges = () => strips.filter((strip) => strip.clearRange()).length > 0;

function makeTime() {
  strips.push(...timedSides().map((side) => new Strip(side)));
  byId('time-keys').hidden = strips.length === 0;
}
