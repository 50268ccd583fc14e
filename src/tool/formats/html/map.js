/*
 * The map: a row for each thread, the busiest first, and in it the run from left to right. A slice has the colour of what most of
 * it is spent on, and is the stronger the more that is.
 */

const MAP_ROWS = window.innerWidth < 640 ? 8 : 20; /* that are shown at first: the graph is below them */
const STRENGTHS = 4;  /* of a colour */

let mapOf = null;     /* what of the state the map is drawn of */
let mapRowsShown = MAP_ROWS;
let mapRows = [];     /* those that are drawn */
let mapCursor = {row: 0, slice: 0}; /* where the keyboard is */

const rowOfMap = (element) => mapRows.find(({cells}) => cells === element);

/* ---- which rows ---- */

const spentOfTree = (tree) => spentWithin(spentInSlices(profile.trees[tree]), rangeOf(''));
const sumOf = (values) => values.reduce((a, b) => a + b, 0);

/* Who runs most comes first, and then who waits most for anything but work. */
function byWork(of) {
  const known = new Map(of.map(([key, trees]) => {
    const spent = trees.map(spentOfTree);
    return [key, {running: sumOf(spent.map((kinds) => kinds[RUNNING])), all: sumOf(spent.map((kinds) => sumOf(kinds) - kinds[IDLE]))}];
  }));
  return of.map(([key]) => key).sort((a, b) => known.get(b).running - known.get(a).running || known.get(b).all - known.get(a).all);
}

/* [process, its trees], the busiest first in each. */
function treesByProcess() {
  const {processes} = profile.threads;
  return byWork(processes.map((process) => [process, process.trees])).map((process) => [process, byWork(process.trees.map((tree) => [tree, [tree]]))]);
}

/* ---- drawing ---- */

/* The colour of a slice, "lock 3", or ''. whole: what is as strong as it can be. */
function colourOfSlice(slices, slice, whole) {
  let most = -1;
  slices.forEach((column, kind) => {
    if (column && isSpentShown(kind) && column[slice] > 0 && (most < 0 || column[slice] > slices[most][slice]))
      most = kind;
  });
  return most < 0 ? '' : `${SPENT_WORDS[most]} ${Math.ceil(STRENGTHS * Math.min(1, slices[most][slice] / whole))}`;
}

/* A thread that lives all of a slice fills it. Threads that are one tree may fill it several times. */
const wholeOfSlice = (slices) => slices.reduce((sums, column) => column ? sums.map((ns, slice) => ns + column[slice]) : sums, new Float64Array(data.slices.count))
  .reduce((most, ns) => Math.max(most, ns), data.slices.ns);

function mapPaths(slices) {
  const whole = wholeOfSlice(slices), paths = new Map();
  for (let slice = 0, begin = 0; slice < data.slices.count; slice++) {
    const colour = colourOfSlice(slices, slice, whole);
    if (slice + 1 < data.slices.count && colourOfSlice(slices, slice + 1, whole) === colour)
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
  cells.append(slicesPicture(mapPaths(slices)));
  element.append(button, cells);
  const row = {tree, name, slices, element, button, cells};
  return row;
}

function drawMap() {
  let left = mapRowsShown;
  const groups = treesByProcess().map(([process, trees]) => {
    const rows = trees.slice(0, left).map(makeRow);
    left -= rows.length;
    return [process, rows];
  }).filter(([, rows]) => rows.length > 0);
  mapRows = groups.flatMap(([, rows]) => rows);
  mapCursor = {...mapCursor, row: 0};
  byId('rows-of-map').replaceChildren(...groups.flatMap(([process, rows]) => [
    ...profile.threads.processes.length > 1 ? [cell('h2', process.title || 'no process')] : [], ...rows.map(({element}) => element)]));
  byId('more-of-map').hidden = mapRows.length >= profile.trees.length;
}

function showMap() {
  const isShown = state.map === 'shown', wanted = `${state.idle} ${mapRowsShown}`;
  byId('map').hidden = !isShown;
  byId('show-map').setAttribute('aria-expanded', isShown);
  if (isShown && mapOf !== wanted) {
    drawMap();
    mapOf = wanted;
  }
  mapRows.forEach(({tree, button}, i) => {
    button.setAttribute('aria-pressed', state.thread === String(tree));
    button.tabIndex = i === mapCursor.row ? 0 : -1;
  });
}

/* ---- using it ---- */

/* Who chooses the chosen thread takes it back. */
const chooseRow = ({tree}) => set('thread', state.thread === String(tree) ? DEFAULTS.thread : String(tree));
const toggleMap = () => set('map', state.map === 'shown' ? 'hidden' : 'shown');

function moveInMap(rows, slices) {
  mapRows[mapCursor.row].button.tabIndex = -1;
  mapCursor = {row: clamp(mapCursor.row + rows, 0, mapRows.length - 1), slice: clamp(mapCursor.slice + slices, 0, data.slices.count - 1)};
  mapRows[mapCursor.row].button.tabIndex = 0;
  mapRows[mapCursor.row].button.focus();
  showMoment(mapRows[mapCursor.row], mapCursor.slice, true);
}

function onMapKey(event) {
  const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [0, PAGE_SLICES], PageDown: [0, -PAGE_SLICES],
                 Home: [0, -Infinity], End: [0, Infinity]}[event.key];
  const row = mapRows.findIndex(({button}) => button === event.target);
  if (!steps || row < 0 || event.ctrlKey || event.altKey || event.metaKey)
    return;
  event.preventDefault();
  mapCursor.row = row;
  if (event.shiftKey && steps[1] !== 0)
    setRangeSoon(widenedRange(state.range || wantedRange ? rangeOf(wantedRange ?? state.range) : {first: mapCursor.slice, end: mapCursor.slice + 1}, steps[1]));
  else
    moveInMap(...steps);
}

function makeMap() {
  byId('show-map').addEventListener('click', toggleMap);
  byId('rows-of-map').addEventListener('keydown', onMapKey);
  byId('more-of-map').addEventListener('click', () => {
    mapRowsShown += 4 * MAP_ROWS;
    showMap();
  });
}
