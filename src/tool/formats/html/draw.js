/*
 * Draws the graph. A frame is shown only if it is in sight and a pixel wide: the others come as one zooms or scrolls. Which of them are
 * elements, and which are only painted: see narrow.js.
 */

const tree = byId('tree');
const scroller = byId('scroll');
let elements = new Map(); /* those that are drawn, by their nodes */
const nodes = new WeakMap(); /* and the other way round */
const painted = new WeakMap(); /* how they look: what is set again costs the browser as much as what is new */

/* An icicle has callers on top, a flame has them below. 1: the frames of a side are below its root. */
const signOf = (side) => state.look === 'icicle' ? side.sign : -side.sign;

/* The row of the root: the rows of a side above it come first. */
const rootRow = () => view.sides.reduce((rows, side) => rows + (signOf(side) < 0 ? side.height : 0), 0);
const rowOf = (node) => rootRow() + signOf(view.sideOf(node)) * node.depth;
const rowCount = () => view.sides.reduce((rows, {height}) => rows + height, 1);

/* What is drawn as wide as the graph: the zoomed frame on its side, the root on the other one. */
const topOf = (side) => zoomed !== view.root && view.sideOf(zoomed) === side ? zoomed : side.root;

function depthsInSight(side) {
  if (isPrinting)
    return [0, side.height];
  const first = Math.floor(scroller.scrollTop / ROW_PX) - 4 - rootRow();
  const last = Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW_PX) + 4 - rootRow();
  return signOf(side) > 0 ? [first, last] : [-last, -first];
}

/* Nodes of one side that are in sight and wide enough, and what is zoomed out of. */
function framesInSight(side, graphPx) {
  const [first, last] = depthsInSight(side);
  const top = topOf(side);
  const narrowest = NARROWEST_PX * (top.x1 - top.x0) / graphPx;
  const found = top.ancestors().slice(1).filter(({depth}) => depth >= first && depth <= last);
  const open = [top];
  while (open.length > 0) {
    const node = open.pop();
    if (node.depth >= first && node.depth <= last)
      found.push(node);
    if (node.depth >= last)
      continue;
    for (const child of node.children) {
      if (child.x1 - child.x0 < narrowest)
        break;
      open.push(child);
    }
  }
  return found;
}

function framesToDraw(graphPx) {
  const found = view.sides.flatMap((side) => framesInSight(side, graphPx));
  if (found.length > FRAMES_MAX)
    found.sort((a, b) => (b.x1 - b.x0) - (a.x1 - a.x0)).length = FRAMES_MAX;
  const wide = new Set(), narrow = [];
  for (const node of found) {
    if (isAbove(node) || partOf(node).width * graphPx >= NARROWEST_ELEMENT_PX)
      wide.add(node);
    else
      narrow.push(node);
  }
  wide.delete(view.callers); /* the other root stands for both */
  wide.add(current);
  /* In the order of reading: row by row. */
  return {wide: [...wide].sort((a, b) => rowOf(a) - rowOf(b) || a.x0 - b.x0 || a.first - b.first), narrow};
}

/* ---- one frame ---- */

/* Zoomed out of: a frame on the way to what is as wide as the graph. */
const isAbove = (node) => node.depth < topOf(view.sideOf(node)).depth;

function describe(node) {
  const value = node.totals[column()];
  const text = `${node.frame.name}, ${formatValue(state.event, value)} ${TITLES[state.event]}`;
  return `${text}, ${formatShare(value, wholeTotal())} of all${changeOfNode(node)}`;
}

function classOf(node) {
  const {frame} = node;
  const classes = [];
  if (isAbove(node))
    classes.push('above');
  if (state.search)
    classes.push(matches.has(frame) ? 'match' : 'miss');
  if (state.colour === 'state' || state.colour === 'change')
    classes.push(`by-${state.colour}`);
  else if (state.colour === 'module')
    classes.push(frame.module.path ? `module-${frame.module.colour}` : 'no-module');
  return classes.join(' ');
}

const classOfElement = (node) => ['frame', classOf(node)].filter(Boolean).join(' ');

/* A part of a whole in percent, in steps of 5. */
const roughShare = (part, whole) => whole > 0 ? 5 * Math.round(20 * part / whole) : 0;

/* What a node's time is spent on, the most first: [word, share]. What is less than SPENT_LEAST of it is not told. */
const SPENT_LEAST = 0.02;
function spentOf({spent}) {
  const sum = spent.reduce((a, b) => a + b);
  return SPENT_WORDS.map((word, i) => [word, spent[i] / sum]).filter(([, share]) => share >= SPENT_LEAST)
    .sort((a, b) => b[1] - a[1]);
}

/* A stripe for each kind, as wide as its share. A narrow frame has the colour of the largest one. */
function timeColours(node, isNarrow) {
  const {spent} = node;
  const largest = Math.max(...spent);
  const parts = isNarrow || largest === 0 ? [] : spentOf(node);
  const sum = parts.reduce((total, [, share]) => total + share, 0);
  if (parts.length < 2)
    return largest > 0 ? `var(--spent-${SPENT_WORDS[spent.indexOf(largest)]})` : 'var(--plain)';
  let end = 0;
  const stripes = parts.map(([word, share]) => {
    const begin = end;
    end += 100 * share / sum;
    return `var(--spent-${word}) ${begin.toFixed(1)}% ${end.toFixed(1)}%`;
  });
  return `linear-gradient(to right, ${stripes.join(', ')})`;
}

function stateColour({totals: [, cpu, offcpu, , rundelay]}) {
  return `--share:${roughShare(cpu, cpu + offcpu)}%;--queued-share:${roughShare(rundelay, offcpu)}%`;
}

function colourOf(node, isNarrow) {
  switch (state.colour) {
  case 'time': return `--colour:${timeColours(node, isNarrow)}`;
  case 'state': return stateColour(node);
  case 'change': return changeColour(node);
  default: return '';
  }
}

function paint(element, node, graphPx) {
  const {left, width} = isAbove(node) ? {left: 0, width: 1} : partOf(node);
  const isNarrow = width * graphPx < NARROWEST_TEXT_PX;
  const looks = {
    name: classOfElement(node),
    style: `left:${100 * left}%;width:${100 * width}%;top:${rowOf(node) * ROW_PX}px;${colourOf(node, isNarrow)}`,
    text: isNarrow ? '' : node.frame.name,
    label: describe(node),
    isCurrent: node === current,
    isZoomed: node === zoomed,
  };
  const before = painted.get(element);
  if (before && Object.entries(looks).every(([key, value]) => before[key] === value))
    return;
  painted.set(element, looks);
  setLooks(element, node, looks);
}

function setLooks(element, node, looks) {
  element.className = looks.name;
  element.style.cssText = looks.style;
  element.textContent = looks.text;
  element.tabIndex = looks.isCurrent ? 0 : -1;
  element.setAttribute('aria-label', looks.label);
  element.setAttribute('aria-level', node.depth + 1);
  element.setAttribute('aria-posinset', node.place + 1);
  element.setAttribute('aria-setsize', node.siblings.length);
  element.setAttribute('aria-selected', looks.isZoomed);
}

function makeElement(node) {
  const element = document.createElement('div');
  element.setAttribute('role', 'treeitem');
  nodes.set(element, node);
  return element;
}

/* ---- all of them ---- */

function draw() {
  const graphPx = scroller.clientWidth; /* read once: to read it while elements change would be costly */
  const {wide, narrow} = framesToDraw(graphPx);
  const drawn = new Map(wide.map((node) => [node, elements.get(node) ?? makeElement(node)]));
  for (const [node, element] of elements) {
    if (!drawn.has(node))
      element.remove();
  }
  elements = drawn;
  pointed = null;
  drawNarrow(narrow, graphPx);
  let next = narrowPicture.nextElementSibling;
  for (const [node, element] of drawn) {
    paint(element, node, graphPx);
    if (element === next)
      next = next.nextElementSibling;
    else
      tree.insertBefore(element, next);
  }
}

/* What a search changes. */
function drawMatches() {
  for (const [node, element] of elements) {
    const name = classOfElement(node), looks = painted.get(element);
    if (looks.name !== name)
      element.className = looks.name = name;
  }
  paintNarrow();
}

let drawIsDue = false;
function drawSoon() {
  if (drawIsDue)
    return;
  drawIsDue = true;
  requestAnimationFrame(() => {
    drawIsDue = false;
    draw();
  });
}

/* Scrolls the row of a node into sight, with some of its callers. */
function scrollTo(node, isSure) {
  const top = rowOf(node) * ROW_PX;
  const {scrollTop, clientHeight} = scroller;
  const isInSight = top >= scrollTop && top + ROW_PX <= scrollTop + clientHeight;
  if (isInSight && !isSure)
    return;
  scroller.scrollTop = view.callers && node === view.root ? top - clientHeight / 2
    : signOf(view.sideOf(node)) > 0 ? top - 2 * ROW_PX : top + 3 * ROW_PX - clientHeight;
}
