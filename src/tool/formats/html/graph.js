/*
 * What is shown and how the graph is drawn, searched and moved in. Second of three parts (profile.js).
 *
 * d3-hierarchy lays the tree out, and d3-selection keeps the elements in step with what is drawn. A frame is drawn
 * only if it is in sight, and wide enough to be seen. The others come as one zooms or scrolls.
 */

/* ---- state: all that a link to a view says ---- */

const profile = new Profile(JSON.parse(byId('profile').textContent));
if (profile.data.total.length > COLUMN.rundelay)
  MEASURES.splice(MEASURES.indexOf('samples'), 0, 'rundelay');
const {data} = profile;
if (data.measure)
  takeMeasure(...data.measure);
const state = {...DEFAULTS};
let root = null;             /* of d3's hierarchy */
let rootOf = null;           /* the threads and times that root is made of */
let rootEvent = null;        /* the measure that root is laid out by */
let nodesById = [];
let zoomed = null;
let current = null;          /* the node that the keyboard is at */
let matches = new Set();     /* frames that the search has found */
let rowsShown = ROWS_STEP;
let isPrinting = false;

const column = () => COLUMN[state.event];
const wholeTotal = () => root.data.total[column()];

function allowed(key, value) {
  switch (key) {
  case 'event': return MEASURES.includes(value);
  case 'thread': return ['all', 'each'].includes(value) || (/^\d{1,9}$/.test(value) && Number(value) < data.trees.length);
  case 'zoom': return /^\d{1,9}$/.test(value);
  case 'look': return ['icicle', 'flame'].includes(value);
  case 'colour': return ['time', 'module', 'state'].includes(value);
  case 'idle': return ['hidden', 'shown'].includes(value);
  case 'theme': return ['auto', 'light', 'dark'].includes(value);
  case 'sort': return ['self', 'total', 'name', 'module'].includes(value);
  default: return key === 'search';
  }
}

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(DEFAULTS)) {
    const value = given.get(key);
    state[key] = value !== null && allowed(key, value) ? value : DEFAULTS[key];
  }
}

function hashOfState() {
  const said = new URLSearchParams();
  for (const key of Object.keys(DEFAULTS)) {
    if (state[key] !== DEFAULTS[key])
      said.set(key, state[key]);
  }
  return said.size > 0 ? `#${said}` : '#';
}

/* Typing leaves one step for "back", not one for each letter. */
function writeHash(isNewStep) {
  const hash = hashOfState();
  if (hash === (location.hash || '#'))
    return;
  if (isNewStep)
    history.pushState(null, '', hash);
  else
    history.replaceState(null, '', hash);
}

/* ---- drawing ---- */

const tree = byId('tree');
const scroller = byId('scroll');

/* The row of a node on the screen: an icicle has callers on top, a flame has them below. */
const rowOf = (node) => state.look === 'icicle' ? node.depth : root.height - node.depth;

function depthsInSight() {
  if (isPrinting)
    return [0, root.height];
  const first = Math.floor(scroller.scrollTop / ROW_PX) - 4;
  const last = Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW_PX) + 4;
  return state.look === 'icicle' ? [first, last] : [root.height - last, root.height - first];
}

/* Nodes of the zoomed tree that are in sight and wide enough. */
function framesInSight(pxPerUnit) {
  const [first, last] = depthsInSight();
  const found = [];
  const open = [zoomed];
  while (open.length > 0) {
    const node = open.pop();
    if (node.depth >= first)
      found.push(node);
    if (node.depth >= last)
      continue;
    for (const child of node.children ?? []) {
      if ((child.x1 - child.x0) * pxPerUnit < NARROWEST_PX)
        break;
      open.push(child);
    }
  }
  return found.length <= FRAMES_MAX ? found : found.sort((a, b) => (b.x1 - b.x0) - (a.x1 - a.x0)).slice(0, FRAMES_MAX);
}

function framesToDraw(pxPerUnit) {
  const [first, last] = depthsInSight();
  const above = zoomed.ancestors().slice(1).filter((node) => node.depth >= first && node.depth <= last);
  const wanted = new Set([...above, ...framesInSight(pxPerUnit)]);
  wanted.add(current);
  /* In the order of reading: row by row. */
  return [...wanted].sort((a, b) => a.depth - b.depth || a.x0 - b.x0 || a.data.id - b.data.id);
}

function describe(node) {
  const value = node.data.total[column()];
  const text = `${node.data.frame.name}, ${formatValue(state.event, value)} ${TITLES[state.event]}`;
  return `${text}, ${formatShare(value, wholeTotal())} of all`;
}

function classOf(node, isAbove) {
  const {frame} = node.data;
  const classes = ['frame'];
  if (isAbove)
    classes.push('above');
  if (state.search)
    classes.push(matches.has(frame) ? 'match' : 'miss');
  if (state.colour === 'state')
    classes.push('by-state');
  else if (state.colour === 'module')
    classes.push(frame.module.path ? `module-${frame.module.colour}` : 'no-module');
  return classes.join(' ');
}

/* A part of a whole in percent, in steps of 5. */
const roughShare = (part, whole) => whole > 0 ? 5 * Math.round(20 * part / whole) : 0;

/* What a node's time is spent on, the most first: [word, share]. What is less than SPENT_LEAST of it is not told. */
const SPENT_LEAST = 0.02;
function spentOf(node) {
  const {spent} = node.data;
  const sum = spent.reduce((a, b) => a + b);
  return SPENT_WORDS.map((word, i) => [word, spent[i] / sum]).filter(([, share]) => share >= SPENT_LEAST)
    .sort((a, b) => b[1] - a[1]);
}

/* A stripe for each kind, as wide as its share. A narrow frame has the colour of the largest one. */
function timeColours(node, isNarrow) {
  const {spent} = node.data;
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

function paint(element, node, graphPx) {
  const isAbove = node.depth < zoomed.depth;
  const left = isAbove ? 0 : (node.x0 - zoomed.x0) / (zoomed.x1 - zoomed.x0);
  const width = isAbove ? 1 : (node.x1 - node.x0) / (zoomed.x1 - zoomed.x0);
  element.className = classOf(node, isAbove);
  element.style.left = `${100 * left}%`;
  element.style.width = `${100 * width}%`;
  element.style.top = `${rowOf(node) * ROW_PX}px`;
  const [, cpu, offcpu, , rundelay] = node.data.total;
  element.style.setProperty('--share', `${roughShare(cpu, cpu + offcpu)}%`);
  element.style.setProperty('--queued-share', `${roughShare(rundelay, offcpu)}%`);
  if (state.colour === 'time')
    element.style.setProperty('--colour', timeColours(node, width * graphPx < NARROWEST_TEXT_PX));
  else
    element.style.removeProperty('--colour');
  element.textContent = width * graphPx >= NARROWEST_TEXT_PX ? node.data.frame.name : '';
  element.tabIndex = node === current ? 0 : -1;
  element.setAttribute('aria-label', describe(node));
  element.setAttribute('aria-level', node.depth + 1);
  element.setAttribute('aria-posinset', node.place + 1);
  element.setAttribute('aria-setsize', node.parent?.shownCount ?? 1);
  element.setAttribute('aria-selected', node === zoomed);
}

function draw() {
  const graphPx = scroller.clientWidth; /* read once: to read it while elements change would be costly */
  const pxPerUnit = graphPx / (zoomed.x1 - zoomed.x0);
  d3.select(tree).selectAll('.frame')
    .data(framesToDraw(pxPerUnit), (node) => node.data.id)
    .join((entered) => entered.append('div').attr('role', 'treeitem'))
    .each(function (node) { paint(this, node, graphPx); })
    .order();
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
  scroller.scrollTop = state.look === 'icicle' ? top - 2 * ROW_PX : top + 3 * ROW_PX - clientHeight;
}

/* ---- details of one frame ---- */

function lineText(node) {
  const {frame, lines} = node.data;
  const numbers = [...lines ?? (frame.startLine ? [frame.startLine] : [])].sort((a, b) => a - b);
  const said = numbers.slice(0, 5).join(', ') + (numbers.length > 5 ? ', …' : '');
  return frame.file ? frame.file + (said && `:${said}`) : '';
}

function row(cells, header) {
  const tr = document.createElement('tr');
  const th = document.createElement('th');
  th.scope = 'row';
  th.textContent = header;
  tr.append(th);
  for (const text of cells) {
    const td = document.createElement('td');
    td.textContent = text;
    tr.append(td);
  }
  return tr;
}

/* Samples do not tell inlined functions apart, and the sums of threads are exact. */
function hasBars(node) {
  const {frame, isInlined, callees} = node.data;
  return data.trees.some(({changes}) => changes) && !frame.isMadeUp && !isInlined &&
    ![...callees?.values() ?? []].some((callee) => callee.isInlined);
}

function showDetail(node) {
  const {frame, self, total, changes, isInlined} = node.data;
  byId('name').textContent = frame.name;
  byId('name').title = frame.name;
  byId('where').textContent = [frame.module.path, lineText(node), isInlined && 'inlined'].filter(Boolean).join(' · ');
  byId('spent').textContent = spentOf(node).map(([word, share]) => `${SPENT[word]}\u00a0${formatShare(share, 1)}`).join(', ');
  const values = (from, near, far) => {
    const bars = hasBars(node) ? errorBars(from, near, far, data.period_ns) : {};
    return MEASURES.map((measure) => bars[measure] === undefined ? formatValue(measure, from[COLUMN[measure]])
      : formatWithin(from[COLUMN[measure]], bars[measure]));
  };
  const shares = (of) => MEASURES.map((measure) => formatShare(total[COLUMN[measure]], of.data.total[COLUMN[measure]]));
  byId('values').replaceChildren(row(values(total, changes[2], changes[3]), 'Total'), row(values(self, changes[0], changes[1]), 'Self'), row(shares(root), 'Of all'),
                                 ...zoomed === root ? [] : [row(shares(zoomed), 'Of the zoomed')]);
}

/* ---- search ---- */

function findMatches() {
  const term = state.search.toLowerCase();
  matches = new Set();
  if (!term)
    return;
  const module = term.startsWith('in:') ? term.slice(3) : null;
  for (const frame of profile.frames.values()) {
    const text = module === null ? frame.name : frame.module.name;
    if (text.toLowerCase().includes(module ?? term))
      matches.add(frame);
  }
}

/* The total of all matches, where a match inside another one does not count, and the number of functions. */
function matchedTotal(from) {
  const open = [from];
  let sum = 0, functions = new Set();
  while (open.length > 0) {
    const node = open.pop();
    if (node.value === 0)
      continue;
    if (matches.has(node.data.frame))
      sum += node.data.total[column()];
    else
      open.push(...node.children ?? []);
  }
  for (const node of from) {
    if (node.value > 0 && matches.has(node.data.frame))
      functions.add(node.data.frame);
  }
  return {sum, functions: functions.size};
}

function showFound() {
  if (!state.search) {
    byId('found').textContent = '';
    return;
  }
  const {sum, functions} = matchedTotal(root);
  const share = `${formatShare(sum, wholeTotal())} of ${TITLES[state.event]}`;
  byId('found').textContent = functions === 0 ? `Nothing matches “${state.search}”.`
    : `${functions} ${functions === 1 ? 'function matches' : 'functions match'}: ${formatValue(state.event, sum)}, ${share}.`;
}

/* Moves to the next match in the zoomed tree, in its order. After the last one comes the first. */
function moveToMatch(step) {
  const found = [];
  zoomed.eachBefore((node) => {
    if (node.value > 0 && (node === current || matches.has(node.data.frame)))
      found.push(node);
  });
  const at = found.indexOf(current) + step;
  if (found.length > 0)
    moveTo(found[(at + found.length) % found.length]);
}

/* ---- moving ---- */

function moveTo(node) {
  current = node;
  scrollTo(node, false);
  draw();
  const element = tree.querySelector('.frame[tabindex="0"]');
  element.focus({preventScroll: true});
  element.scrollIntoView({block: 'nearest'}); /* the style's scroll margin keeps it clear of the details */
  showDetail(node);
}

function sibling(node, step) {
  const place = node.place + step;
  return node.parent && place < node.parent.shownCount ? node.parent.children[place] : null;
}

function isInside(node, of) {
  return node.depth >= of.depth && node.ancestors().includes(of);
}

function zoomTo(node, isFocused) {
  state.zoom = String(node.data.id);
  current = node;
  writeHash(true);
  update();
  if (isFocused)
    moveTo(node);
}

/* Where the key to a callee leads: above the zoomed frame towards it, elsewhere to the widest callee. */
function calleeOf(node) {
  return node.depth < zoomed.depth ? zoomed.ancestors()[zoomed.depth - node.depth - 1] : widestChild(node);
}

/* Where a key leads. Up and down mean rows of the screen: callees are below in an icicle, above in a flame. */
function keyTarget(key) {
  const isIcicle = state.look === 'icicle';
  switch (key) {
  case 'ArrowUp': return isIcicle ? current.parent : calleeOf(current);
  case 'ArrowDown': return isIcicle ? calleeOf(current) : current.parent;
  case 'ArrowLeft': return sibling(current, -1);
  case 'ArrowRight': return sibling(current, 1);
  case 'Home': return zoomed;
  case 'End': return zoomed.leaves().find((node) => node.value > 0);
  default: return null;
  }
}

/* Whether a node can be drawn: it is in the zoomed part, or on the way to it. */
const isOnView = (node) => isInside(node, zoomed) || isInside(zoomed, node);

function moveByKey(key) {
  const target = keyTarget(key);
  if (target && isOnView(target))
    moveTo(target);
}

function onTreeKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey)
    return;
  const actions = {
    Enter: () => zoomTo(current, true),
    ' ': () => zoomTo(current, true),
    Backspace: () => zoomTo(zoomed.parent ?? zoomed, true),
    n: () => moveToMatch(1),
    p: () => moveToMatch(-1),
  };
  const isMove = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key);
  if (!isMove && !actions[event.key])
    return;
  event.preventDefault();
  if (isMove)
    moveByKey(event.key);
  else
    actions[event.key]();
}

function onPageKey(event) {
  const isTyping = event.target instanceof HTMLInputElement && !['radio', 'checkbox'].includes(event.target.type);
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    byId('search').focus();
    byId('search').select();
  } else if (event.key === 'Escape' && !(event.target instanceof HTMLSelectElement)) {
    if (isTyping && state.search)
      setSearch('');
    else
      zoomTo(root, tree.contains(document.activeElement));
  }
}
