/*
 * When time was spent: src/tool/formats/html_times.h. Each run is divided into slices, and each node has its part of each. A
 * range of slices is chosen as text, "12-40": the first one, and the one after the last. "" is the whole run. In a comparison each
 * recording has its own slices, and its own range.
 */

const UNITS_OF_SLICE = 1000;

/* Columns of parts. Those of a node follow each other, in order of time. */
class Times {
  constructor(count, reader, tree, hasDelay, unitNs) {
    const counts = reader.integers(tree.count);
    this.count = count;
    this.node = new Int32Array(count);
    this.slice = reader.integers(count);
    const told = count - this.place(counts), none = new Float64Array(told);
    const cpu = this.wholeOf(tree.cpu), offcpu = this.wholeOf(tree.offcpu), rundelay = this.wholeOf(tree.rundelay);
    this.cpu = this.complete(reader.values(told), cpu, unitNs);
    this.blocked = this.complete(reader.values(told), offcpu.map((ns, at) => ns - rundelay[at]), unitNs);
    this.rundelay = this.complete(hasDelay ? reader.values(told) : none, rundelay, unitNs);
  }

  /* Says of each part which node and which slice it is of. Returns how many nodes have any. */
  place(counts) {
    let at = 0, nodes = 0;
    for (let node = 0; node < counts.length; node++) {
      if (counts[node] === 0)
        continue;
      nodes++;
      for (let end = at + counts[node], slice = -1; at < end; at++) {
        this.node[at] = node;
        this.slice[at] = slice += this.slice[at] + 1;
      }
    }
    return nodes;
  }

  /* Of each part all that its node has. */
  wholeOf(column) {
    return Float64Array.from(this.node, (node) => column[node]);
  }

  isLast(at) {
    return at + 1 === this.count || this.node[at + 1] !== this.node[at];
  }

  /* A node's last part is what the others leave of the whole. */
  complete(told, whole, unitNs) {
    const column = new Float64Array(this.count);
    for (let at = 0, next = 0, sum = 0; at < this.count; at++) {
      const isLast = this.isLast(at);
      column[at] = isLast ? whole[at] - sum : unitNs * told[next++];
      sum = isLast ? 0 : sum + column[at];
    }
    return column;
  }
}

/* ---- ranges ---- */

const RANGE_KEYS = ['range', 'range-before']; /* of the state, by recording */

const slicesOf = (side) => profile.recordings[side]?.slices;
const isTimed = (side) => Boolean(slicesOf(side));
const timedSides = () => [BEFORE, AFTER].filter(isTimed); /* in the order in which they are shown */
const shownRange = (side) => state[RANGE_KEYS[side]];

function rangeOf(text, side) {
  const [first, end] = text ? text.split('-').map(Number) : [0, slicesOf(side).count];
  return {first, end};
}

const isWhole = ({first, end}, side) => first === 0 && end === slicesOf(side).count;
const textOfRange = (range, side) => isWhole(range, side) ? '' : `${range.first}-${range.end}`;

function isRange(text, side) {
  if (!isTimed(side) || !/^\d{1,4}-\d{1,4}$/.test(text))
    return false;
  const {first, end} = rangeOf(text, side);
  return first < end && end <= slicesOf(side).count && textOfRange({first, end}, side) === text;
}

/* What of a tree lies in a range. */
class RangedTree {
  constructor(tree, {first, end}) {
    const {count, side, up, location, wait} = tree;
    Object.assign(this, {count, side, up, location, wait, changes: null, blame: null}); /* nobody knows when anybody was blamed */
    [this.samples, this.cpu, this.offcpu, this.rundelay] = floats(4, count);
    const {node, slice, cpu, rundelay, blocked} = tree.times;
    for (let at = 0, before = 0, until = 0; at < tree.times.count; at++) {
      const wall = cpu[at] + rundelay[at] + blocked[at], place = node[at];
      before += slice[at] < first ? wall : 0;
      until += slice[at] < end ? wall : 0;
      if (slice[at] >= first && slice[at] < end) {
        this.cpu[place] += cpu[at];
        this.rundelay[place] += rundelay[at];
        this.offcpu[place] += rundelay[at] + blocked[at];
      }
      if (tree.times.isLast(at)) {
        this.samples[place] = this.shareSamples(tree, place, before, until);
        before = until = 0;
      }
    }
  }

  /* Nobody knows when each was taken. A node has as large a part of its samples here as of its time, and ranges that follow
   * each other add up. */
  shareSamples({samples, cpu, offcpu}, node, before, until) {
    const ofTime = samples[node] / (cpu[node] + offcpu[node] || 1);
    return Math.round(ofTime * until) - Math.round(ofTime * before);
  }
}

const rangedOf = ['', ''];                    /* the ranges that were shown last, by recording */
const rangedTrees = [new Map(), new Map()]; /* of these */

/* A tree of the profile, or what of it lies in the range of its recording that is shown. */
function shownTree(number) {
  const tree = profile.trees[number], {side} = tree, range = shownRange(side);
  if (!range)
    return tree;
  if (rangedOf[side] !== range)
    rangedTrees[side].clear();
  rangedOf[side] = range;
  if (!rangedTrees[side].has(number))
    rangedTrees[side].set(number, new RangedTree(tree, rangeOf(range, side)));
  return rangedTrees[side].get(number);
}

/* The sums of the range of such trees, as totalsOf has them of the whole run. */
function totalsOfRange(trees) {
  const total = new Float64Array(COLUMNS), idle = new Float64Array(COLUMNS);
  for (const {count, samples, cpu, offcpu, rundelay, wait} of trees.map(shownTree)) {
    for (let i = 0; i < count; i++) {
      const blocked = offcpu[i] - rundelay[i], isIdle = profile.spentOfWait[wait[i]] === IDLE;
      total[0] += samples[i];
      total[1] += cpu[i];
      total[2] += offcpu[i];
      total[4] += rundelay[i];
      idle[0] += isIdle && blocked > cpu[i] + rundelay[i] ? samples[i] : 0;
      idle[2] += isIdle ? blocked : 0;
    }
  }
  total[3] = total[1] + total[2];
  idle[3] = idle[2];
  return {total: Array.from(total, BigInt), idle: Array.from(idle, BigInt)};
}

/* ---- what slices are spent on ---- */

/* Of a tree: by what it is spent on, the time in each slice; null where there is none. */
function spentInSlices(tree) {
  if (tree.spentInSlices)
    return tree.spentInSlices;
  const spent = floats(SPENT_WORDS.length, slicesOf(tree.side).count);
  const {count, node, slice, cpu, rundelay, blocked} = tree.times;
  for (let at = 0; at < count; at++) {
    spent[RUNNING][slice[at]] += cpu[at];
    spent[FOR_CPU][slice[at]] += rundelay[at];
    spent[profile.spentOfWait[tree.wait[node[at]]]][slice[at]] += blocked[at];
  }
  tree.spentInSlices = spent.map((column) => column.some((ns) => ns > 0) ? column : null);
  return tree.spentInSlices;
}

/* Of several trees of a recording. */
const spentOfTrees = (trees, side) => SPENT_WORDS.map((_, kind) => {
  const columns = trees.map((tree) => spentInSlices(profile.trees[tree])[kind]).filter(Boolean);
  return columns.length > 0 ? columns.reduce((sum, column) => sum.map((ns, slice) => ns + column[slice]), new Float64Array(slicesOf(side).count)) : null;
});

/* By what it is spent on, the time of slices in a range. Idle time is not there while it is hidden. */
function spentWithin(slices, {first, end}) {
  return slices.map((column, kind) => column && isSpentShown(kind) ? column.subarray(first, end).reduce((a, b) => a + b, 0) : 0);
}

const isSpentShown = (kind) => kind !== IDLE || state.idle === 'shown';

/* "running 60.00 %, lock 40.00 %" */
function sharesText(spent) {
  const text = spentOf({spent}).map(([word, share]) => `${SPENT[word]}\u00a0${formatShare(share, 1)}`).join(', ');
  return text || (state.idle === 'shown' ? 'nothing' : 'nothing, or idle');
}

/* ---- times for people ---- */

/* When a slice begins. All are in one unit, and as exact as slices are. */
function momentOf(slice, side) {
  const durationNs = Number(profile.recordings[side].duration_ns), {ns} = slicesOf(side);
  const [unit, size] = unitOf(durationNs);
  const digits = Math.max(0, Math.ceil(-Math.log10(ns / size)));
  return `${(Math.min(slice * ns, durationNs) / size).toFixed(digits)}\u00a0${unit}`;
}

const rangeText = ({first, end}, side) => `${momentOf(first, side)} to ${momentOf(end, side)}`;
