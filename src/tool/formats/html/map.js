/*
 * The map: a row for each thread, the busiest first, and in it the run from left to right. A slice has the colour of what most of
 * it is spent on, and is the stronger the more that is. Each strip has one below it; they are shown together.
 */

const MAP_ROWS = window.innerWidth < 640 ? 8 : 20; /* that are shown at first: the graph is below them */
const STRENGTHS = 4;  /* of a colour */

/* ---- which rows ---- */

const spentOfTree = (tree) => spentWithin(spentInSlices(profile.trees[tree]), rangeOf('', profile.trees[tree].side));
const sumOf = (values) => values.reduce((a, b) => a + b, 0);

/* Who runs most comes first, and then who waits most for anything but work. */
function byWork(of) {
  const known = new Map(of.map(([key, trees]) => {
    const spent = trees.map(spentOfTree);
    return [key, {running: sumOf(spent.map((kinds) => kinds[RUNNING])), all: sumOf(spent.map((kinds) => sumOf(kinds) - kinds[IDLE]))}];
  }));
  return of.map(([key]) => key).sort((a, b) => known.get(b).running - known.get(a).running || known.get(b).all - known.get(a).all);
}

/* [process, its trees in a recording], the busiest first in each. */
function treesByProcess(side) {
  const trees = new Map(profile.threads.processes.map((process) => [process, process.trees.filter((tree) => profile.trees[tree].side === side)]));
  return byWork([...trees]).map((process) => [process, byWork(trees.get(process).map((tree) => [tree, [tree]]))]);
}

/* ---- drawing ---- */

/* The colour of a slice, "lock 3", or ''. whole: what is as strong as it can be. */
function colourOfSlice(spent, slice, whole) {
  let most = -1;
  spent.forEach((column, kind) => {
    if (column && isSpentShown(kind) && column[slice] > 0 && (most < 0 || column[slice] > spent[most][slice]))
      most = kind;
  });
  return most < 0 ? '' : `${SPENT_WORDS[most]} ${Math.ceil(STRENGTHS * Math.min(1, spent[most][slice] / whole))}`;
}

/* A thread that lives all of a slice fills it. Threads that are one tree may fill it several times. */
const wholeOfSlice = (spent, {count, ns: sliceNs}) => spent.reduce((sums, column) => column ? sums.map((ns, slice) => ns + column[slice]) : sums, new Float64Array(count))
  .reduce((most, ns) => Math.max(most, ns), sliceNs);

function mapPaths(spent, slices) {
  const whole = wholeOfSlice(spent, slices), paths = new Map();
  for (let slice = 0, begin = 0; slice < slices.count; slice++) {
    const colour = colourOfSlice(spent, slice, whole);
    if (slice + 1 < slices.count && colourOfSlice(spent, slice + 1, whole) === colour)
      continue;
    if (colour)
      paths.set(colour, `${paths.get(colour) ?? ''}M${begin} 0h${slice + 1 - begin}v100h${begin - slice - 1}z`);
    begin = slice + 1;
  }
  return Array.from(paths, ([colour, d]) => {
    const [word, strength] = colour.split(' ');
    return svgElement('path', {class: `spent-${word}`, 'fill-opacity': strength / STRENGTHS, d});
  });
}

/* Its process stands above it, where there are several. */
function nameInMap(tree) {
  const given = profile.given[tree];
  return profile.threads.processes.length > 1 ? threadName({...given, name: ownName(given) || undefined}) : profile.threadFrames[tree].name;
}

/* ---- choosing a thread ---- */

/* A comparison has groups of threads only. */
const choiceOf = ({tree}) => profile.isCompared ? `g${profile.threads.groupOf(tree)}` : String(tree);

/* Who chooses the chosen thread takes it back. */
const chooseRow = (row) => set('thread', state.thread === choiceOf(row) ? DEFAULTS.thread : choiceOf(row));
const toggleMaps = () => set('map', state.map === 'shown' ? 'hidden' : 'shown');

function makeRow(tree) {
  const slices = spentInSlices(profile.trees[tree]), {name} = profile.threadFrames[tree];
  const element = document.createElement('div'), button = cell('button', nameInMap(tree)), cells = document.createElement('div');
  element.className = 'map-row';
  button.type = 'button';
  button.title = name;
  button.tabIndex = -1;
  button.addEventListener('click', () => chooseRow(row));
  cells.className = 'slices';
  cells.setAttribute('role', 'img');
  cells.setAttribute('aria-label', `${name}: ${sharesText(spentOfTree(tree))}`);
  cells.append(slicesPicture(mapPaths(slices, slicesOf(profile.trees[tree].side)), slicesOf(profile.trees[tree].side)));
  element.append(button, cells);
  const row = {tree, name, slices, element, button, cells};
  return row;
}

/* ---- the map of a strip ---- */

class ThreadMap {
  constructor(strip) {
    this.strip = strip;
    this.drawnOf = null;                /* what of the state it is drawn of */
    this.rowsShown = MAP_ROWS;
    this.rows = [];                     /* those that are drawn */
    this.cursor = {row: 0, slice: 0};   /* where the keyboard is */
    strip.part('show-map').addEventListener('click', toggleMaps);
    strip.part('rows-of-map').addEventListener('keydown', (event) => this.onKey(event));
    strip.part('more-of-map').addEventListener('click', () => {
      this.rowsShown += 4 * MAP_ROWS;
      this.show();
    });
  }

  rowOf(element) {
    return this.rows.find(({cells}) => cells === element);
  }

  draw() {
    let left = this.rowsShown;
    const all = treesByProcess(this.strip.side);
    const groups = all.map(([process, trees]) => {
      const rows = trees.slice(0, left).map(makeRow);
      left -= rows.length;
      return [process, rows];
    }).filter(([, rows]) => rows.length > 0);
    this.rows = groups.flatMap(([, rows]) => rows);
    this.cursor = {...this.cursor, row: 0};
    this.strip.part('rows-of-map').replaceChildren(...groups.flatMap(([process, rows]) => [
      ...profile.threads.processes.length > 1 ? [cell('h2', process.title || 'no process')] : [], ...rows.map(({element}) => element)]));
    this.strip.part('more-of-map').hidden = this.rows.length >= sumOf(all.map(([, trees]) => trees.length));
  }

  show() {
    const isShown = state.map === 'shown', wanted = `${state.idle} ${this.rowsShown}`;
    this.strip.part('map').hidden = !isShown;
    this.strip.part('show-map').setAttribute('aria-expanded', isShown);
    if (isShown && this.drawnOf !== wanted) {
      this.draw();
      this.drawnOf = wanted;
    }
    this.rows.forEach((row, i) => {
      row.button.setAttribute('aria-pressed', state.thread === choiceOf(row));
      row.button.tabIndex = i === this.cursor.row ? 0 : -1;
    });
  }

  move(rows, slices) {
    this.rows[this.cursor.row].button.tabIndex = -1;
    this.cursor = {row: clamp(this.cursor.row + rows, 0, this.rows.length - 1), slice: clamp(this.cursor.slice + slices, 0, this.strip.slices.count - 1)};
    const row = this.rows[this.cursor.row];
    row.button.tabIndex = 0;
    row.button.focus();
    this.strip.showMoment(row, this.cursor.slice, true);
  }

  onKey(event) {
    const {strip, cursor} = this;
    const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [0, PAGE_SLICES], PageDown: [0, -PAGE_SLICES],
                   Home: [0, -Infinity], End: [0, Infinity]}[event.key];
    const row = this.rows.findIndex(({button}) => button === event.target);
    if (!steps || row < 0 || event.ctrlKey || event.altKey || event.metaKey)
      return;
    event.preventDefault();
    cursor.row = row;
    const known = strip.wanted ?? strip.range;
    if (event.shiftKey && steps[1] !== 0)
      strip.setRangeSoon(strip.widenedRange(known ? rangeOf(known, strip.side) : {first: cursor.slice, end: cursor.slice + 1}, steps[1]));
    else
      this.move(...steps);
  }
}
