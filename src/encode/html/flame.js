/*
 * The page's program: reads the profile that is in the page, and draws it.
 *
 * d3-hierarchy lays the tree out, d3-selection keeps the elements in step with what is drawn. Drawn are the
 * frames in sight that are wide enough to be seen; the others come as one zooms or scrolls. Every name, path and
 * command line is somebody else's text: it only ever becomes text content, or the value of a harmless attribute.
 */
'use strict';
(() => {

const MEASURES = ['wall', 'cpu', 'offcpu', 'samples'];
const TITLES = {wall: 'Wall clock', cpu: 'CPU', offcpu: 'Off CPU', samples: 'Samples'};
const COLUMN = {samples: 0, cpu: 1, offcpu: 2, wall: 3}; /* of the values in the data */
const ROW_PX = 21;
const NARROWEST_PX = 0.7;   /* of what is drawn */
const NARROWEST_TEXT_PX = 28;
const FRAMES_MAX = 3000;    /* drawn at a time: the widest */
const PALETTE = 9;         /* modules with a colour of their own */
const ROWS_STEP = 50;      /* of the table */
const DEFAULTS = {event: 'wall', thread: 'all', zoom: '0', search: '', look: 'icicle', colour: 'module', theme: 'auto',
                  sort: 'self'};

const byId = (id) => document.getElementById(id);

/* ---- numbers for people ---- */

const groupDigits = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u2009');

/* 4.18 s, 12.3 ms: four digits or so. */
function formatTime(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (ns >= size) {
      const value = ns / size;
      return `${value >= 1000 ? groupDigits(value.toFixed(0)) : value.toPrecision(4)}\u00a0${unit}`;
    }
  }
  return `${Math.round(ns)}\u00a0ns`;
}

function formatValue(measure, value) {
  return measure === 'samples' ? groupDigits(String(Math.round(value))) : formatTime(value);
}

/* All of it, from the digits in the data, which may be more than a number holds. */
function formatExact(measure, digits) {
  if (measure === 'samples')
    return groupDigits(digits);
  const padded = digits.padStart(10, '0');
  return `${groupDigits(padded.slice(0, -9))}.${padded.slice(-9)}\u00a0s`;
}

const formatShare = (part, whole) => `${(whole > 0 ? 100 * part / whole : 0).toFixed(2)}\u00a0%`;

/* ---- what is in the page ---- */

/* A function in a module: what one frame of the graph stands for. */
class Frame {
  constructor(name, module, file, startLine) {
    this.name = name || '[nameless]';
    this.module = module;
    this.file = file;
    this.startLine = startLine; /* 0: not known */
    this.isMadeUp = false;      /* a thread, or all of them */
  }
}

class Module {
  constructor(path) {
    this.path = path;
    this.name = path.startsWith('[') ? path : path.slice(path.lastIndexOf('/') + 1);
    this.colour = 'other'; /* or its place in the palette */
  }
}

class Profile {
  constructor(data) {
    this.data = data;
    this.modules = new Map();
    this.frames = new Map();
    this.locations = data.locations.map((location) => this.readLocation(location));
    this.threadFrames = data.trees.map((tree) => this.madeUp(threadName(tree)));
    this.everything = this.madeUp('all');
    this.colourModules();
  }

  module(path) {
    if (!this.modules.has(path))
      this.modules.set(path, new Module(path));
    return this.modules.get(path);
  }

  madeUp(name) {
    const frame = new Frame(name, this.module(''), '', 0);
    frame.isMadeUp = true;
    return frame;
  }

  frame(index, module) {
    const {strings, functions} = this.data;
    const key = `${index} ${module.path}`;
    if (!this.frames.has(key)) {
      const [name, file, startLine] = functions.slice(3 * index, 3 * index + 3);
      this.frames.set(key, new Frame(strings[name], module, strings[file], startLine));
    }
    return this.frames.get(key);
  }

  /* [module, function, line, function, line...], innermost first; a tree wants the outermost first. */
  readLocation(location) {
    const module = this.module(this.data.strings[location[0]]);
    const steps = [];
    for (let i = location.length - 2; i > 0; i -= 2)
      steps.push({frame: this.frame(location[i], module), line: location[i + 1], isInlined: steps.length > 0});
    return steps;
  }

  /* The heaviest modules have colours of their own, whichever threads are shown. */
  colourModules() {
    const weights = new Map();
    for (const {nodes} of this.data.trees) {
      for (let at = 0; at < nodes.length; at += 6) {
        const {module} = this.locations[nodes[at + 1]][0].frame;
        weights.set(module, (weights.get(module) ?? 0) + nodes[at + 5]);
      }
    }
    weights.delete(this.module(''));
    this.modulesByWeight = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a.path < b.path ? -1 : 1));
    this.modulesByWeight.slice(0, PALETTE).forEach((module, i) => { module.colour = String(i); });
  }
}

function threadName(tree) {
  if (tree.name === undefined)
    return tree.threads > 0 ? 'all threads' : '[unknown threads]';
  return tree.id === undefined ? tree.name + (tree.threads > 1 ? ` × ${tree.threads}` : '') : `${tree.name} (${tree.id})`;
}

/* ---- the tree that is shown ---- */

class Node {
  constructor(id, frame) {
    this.id = id; /* in order of making: the same whenever the same tree is made */
    this.frame = frame;
    this.self = [0, 0, 0, 0];
    this.total = null;
    this.callees = null; /* by frame */
    this.lines = null;
    this.isInlined = false;
  }
}

class TreeBuilder {
  constructor(profile, frame) {
    this.profile = profile;
    this.count = 0;
    this.root = this.make(frame);
  }

  make(frame) {
    return new Node(this.count++, frame);
  }

  callee(parent, frame) {
    parent.callees ??= new Map();
    let node = parent.callees.get(frame);
    if (!node)
      parent.callees.set(frame, node = this.make(frame));
    return node;
  }

  /* Numbers in sixes: depth, location, values. A node comes right after its parent, or after its siblings' trees. */
  add(tree, parent) {
    const {nodes} = tree;
    const path = [parent];
    for (let at = 0; at < nodes.length; at += 6) {
      const depth = nodes[at];
      let node = path[depth - 1];
      for (const {frame, line, isInlined} of this.profile.locations[nodes[at + 1]]) {
        node = this.callee(node, frame);
        node.isInlined ||= isInlined;
        if (line > 0)
          (node.lines ??= new Set()).add(line);
      }
      for (let i = 0; i < 4; i++)
        node.self[i] += nodes[at + 2 + i];
      path[depth] = node;
    }
  }
}

/* thread: all, each, or the number of one tree. */
function buildTree(profile, thread) {
  const {trees} = profile.data;
  const single = trees[Number(thread)];
  const builder = new TreeBuilder(profile, single ? profile.threadFrames[Number(thread)] : profile.everything);
  for (const [i, tree] of trees.entries()) {
    if (!single)
      builder.add(tree, thread === 'each' ? builder.callee(builder.root, profile.threadFrames[i]) : builder.root);
    else if (tree === single)
      builder.add(tree, builder.root);
  }
  const root = d3.hierarchy(builder.root, (node) => node.callees && node.callees.values());
  root.eachAfter((node) => {
    const total = node.data.self.slice();
    for (const child of node.children ?? []) {
      for (let i = 0; i < 4; i++)
        total[i] += child.data.total[i];
    }
    node.data.total = total;
  });
  return root;
}

/* The widest child comes first; those without a share, which are not shown, last. */
function layOut(root, measure) {
  const column = COLUMN[measure];
  root.each((node) => { node.value = node.data.total[column]; });
  root.sort((a, b) => b.value - a.value || a.data.id - b.data.id);
  d3.partition()(root);
  root.place = 0;
  root.each((node) => {
    const children = node.children ?? [];
    children.forEach((child, i) => { child.place = i; });
    node.shownCount = children.filter((child) => child.value > 0).length;
  });
}

const widestChild = (node) => node.shownCount > 0 ? node.children[0] : null;

/* ---- state: all that a link to a view says ---- */

const profile = new Profile(JSON.parse(byId('profile').textContent));
const {data} = profile;
const state = {...DEFAULTS};
let root = null;             /* of d3's hierarchy */
let rootThread = null;       /* the threads that root is of, */
let rootEvent = null;        /* and the measure that it is laid out by */
let nodesById = [];
let zoomed = null;
let current = null;          /* the frame that the keyboard is at */
let matches = new Set();     /* frames */
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
  case 'colour': return ['module', 'state'].includes(value);
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

/* Callers on top, or below. */
const rowOf = (node) => state.look === 'icicle' ? node.depth : root.height - node.depth;

function depthsInSight() {
  if (isPrinting)
    return [0, root.height];
  const first = Math.floor(scroller.scrollTop / ROW_PX) - 4;
  const last = Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW_PX) + 4;
  return state.look === 'icicle' ? [first, last] : [root.height - last, root.height - first];
}

/* Frames of the zoomed tree in sight, as far as they are wide enough. */
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
  /* In the order in which one reads them: row by row. */
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
  else
    classes.push(frame.module.path ? `module-${frame.module.colour}` : 'no-module');
  return classes.join(' ');
}

/* Running, in steps of 5 %: the share of CPU time in the time that passed. */
function runningShare(node) {
  const [, cpu, offcpu] = node.data.total;
  return cpu + offcpu > 0 ? 5 * Math.round(20 * cpu / (cpu + offcpu)) : 0;
}

function paint(element, node, graphPx) {
  const isAbove = node.depth < zoomed.depth;
  const left = isAbove ? 0 : (node.x0 - zoomed.x0) / (zoomed.x1 - zoomed.x0);
  const width = isAbove ? 1 : (node.x1 - node.x0) / (zoomed.x1 - zoomed.x0);
  element.className = classOf(node, isAbove);
  element.style.left = `${100 * left}%`;
  element.style.width = `${100 * width}%`;
  element.style.top = `${rowOf(node) * ROW_PX}px`;
  element.style.setProperty('--share', `${runningShare(node)}%`);
  element.textContent = width * graphPx >= NARROWEST_TEXT_PX ? node.data.frame.name : '';
  element.tabIndex = node === current ? 0 : -1;
  element.setAttribute('aria-label', describe(node));
  element.setAttribute('aria-level', node.depth + 1);
  element.setAttribute('aria-posinset', node.place + 1);
  element.setAttribute('aria-setsize', node.parent?.shownCount ?? 1);
  element.setAttribute('aria-selected', node === zoomed);
}

function draw() {
  const graphPx = scroller.clientWidth; /* asked for once: while elements change it would be costly */
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

/* The row of a node, with some of its callers, into sight. */
function scrollTo(node, isSure) {
  const top = rowOf(node) * ROW_PX;
  const {scrollTop, clientHeight} = scroller;
  const isInSight = top >= scrollTop && top + ROW_PX <= scrollTop + clientHeight;
  if (isInSight && !isSure)
    return;
  scroller.scrollTop = state.look === 'icicle' ? top - 2 * ROW_PX : top + 3 * ROW_PX - clientHeight;
}

/* ---- the frame that is spoken of ---- */

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

function showDetail(node) {
  const {frame, self, total, isInlined} = node.data;
  byId('name').textContent = frame.name;
  byId('name').title = frame.name;
  byId('where').textContent = [frame.module.path, lineText(node), isInlined && 'inlined'].filter(Boolean).join(' · ');
  const values = (from) => MEASURES.map((measure) => formatValue(measure, from[COLUMN[measure]]));
  const shares = (of) => MEASURES.map((measure) => formatShare(total[COLUMN[measure]], of.data.total[COLUMN[measure]]));
  byId('values').replaceChildren(row(values(total), 'Total'), row(values(self), 'Self'), row(shares(root), 'Of all'),
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

/* Of what calls itself, the outermost counts. */
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

/* The next match in the order of the tree, round and round; of the zoomed. */
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
  element.scrollIntoView({block: 'nearest'}); /* also from below the detail, as the style has it */
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

/* Above the zoomed frame there is one way down to it. */
function calleeOf(node) {
  return node.depth < zoomed.depth ? zoomed.ancestors()[zoomed.depth - node.depth - 1] : widestChild(node);
}

/* Rows of the screen: callees are below in one look and above in the other. */
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

/* Whether it is drawn: in the zoomed part, or on the way to it. */
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
  const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'radio';
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

/* ---- the table ---- */

/* Of each function what it did itself and with its callees, a function inside itself counted once. */
function functionTotals() {
  const rows = new Map();
  const depthOf = new Map();
  const open = [{node: zoomed, isLeaving: false}];
  while (open.length > 0) {
    const {node, isLeaving} = open.pop();
    const {frame, self, total} = node.data;
    const depth = depthOf.get(frame) ?? 0;
    depthOf.set(frame, isLeaving ? depth - 1 : depth + 1);
    if (isLeaving || node.value === 0) {
      if (!isLeaving)
        depthOf.set(frame, depth);
      continue;
    }
    if (!rows.has(frame))
      rows.set(frame, {frame, self: 0, total: 0});
    const sums = rows.get(frame);
    sums.self += self[column()];
    sums.total += depth === 0 ? total[column()] : 0;
    open.push({node, isLeaving: true});
    for (const child of node.children ?? [])
      open.push({node: child, isLeaving: false});
  }
  return [...rows.values()].filter(({frame}) => !frame.isMadeUp);
}

const compareText = (a, b) => a < b ? -1 : a > b ? 1 : 0;
const ORDERS = {
  self: (a, b) => b.self - a.self || b.total - a.total,
  total: (a, b) => b.total - a.total || b.self - a.self,
  name: (a, b) => compareText(a.frame.name, b.frame.name),
  module: (a, b) => compareText(a.frame.module.name, b.frame.module.name) || b.self - a.self,
};

function functionRow({frame, self, total}) {
  const tr = document.createElement('tr');
  for (const value of [self, total]) {
    const cell = tr.insertCell();
    cell.textContent = formatValue(state.event, value);
    cell.title = formatExact(state.event, String(value));
    tr.insertCell().textContent = formatShare(value, wholeTotal());
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = frame.name;
  button.title = 'Search for it';
  button.addEventListener('click', () => setSearch(frame.name));
  const th = document.createElement('th');
  th.scope = 'row';
  th.append(button);
  tr.append(th);
  const where = tr.insertCell();
  where.textContent = frame.module.name;
  where.title = frame.module.path;
  return tr;
}

function showTable() {
  const all = functionTotals().filter(({frame}) => !state.search || matches.has(frame)).sort(ORDERS[state.sort]);
  const part = zoomed === root ? '' : `, in ${zoomed.data.frame.name}`;
  byId('rows').replaceChildren(...all.slice(0, rowsShown).map(functionRow));
  byId('top-note').textContent = `${TITLES[state.event]}${part}: ${Math.min(rowsShown, all.length)} of ` +
    `${groupDigits(String(all.length))} ${state.search ? 'functions that match' : 'functions'}`;
  byId('more').hidden = all.length <= rowsShown;
  for (const th of byId('top').querySelectorAll('th[data-column]')) {
    if (th.dataset.column === state.sort)
      th.setAttribute('aria-sort', ['name', 'module'].includes(state.sort) ? 'ascending' : 'descending');
    else
      th.removeAttribute('aria-sort');
  }
}

/* Not before the graph is there. */
let tableTimer = 0;
function showTableSoon() {
  clearTimeout(tableTimer);
  tableTimer = setTimeout(showTable, 30);
}

/* ---- the rest of the page ---- */

function legendItem(className, text) {
  const item = document.createElement('li');
  const swatch = document.createElement('span');
  swatch.className = `swatch ${className}`;
  item.append(swatch, text);
  return item;
}

function showLegend() {
  const items = state.colour === 'state'
    ? [legendItem('by-state', 'blocked'), legendItem('by-state half', 'half of the time'), legendItem('by-state running', 'running')]
    : profile.modulesByWeight.slice(0, PALETTE).map((module) => legendItem(`module-${module.colour}`, module.name));
  if (state.colour === 'module' && profile.modulesByWeight.length > PALETTE)
    items.push(legendItem('module-other', `${profile.modulesByWeight.length - PALETTE} others`));
  if (state.search)
    items.push(legendItem('match', 'matches'));
  byId('legend').replaceChildren(...items);
}

function showZoomed() {
  const value = zoomed.data.total[column()];
  byId('zoomed').textContent = zoomed === root ? ''
    : `Zoomed to ${zoomed.data.frame.name}: ${formatValue(state.event, value)}, ${formatShare(value, wholeTotal())} of all.`;
}

function showControls() {
  document.documentElement.dataset.theme = state.theme;
  for (const id of ['thread', 'look', 'colour', 'theme'])
    byId(id).value = state[id];
  if (byId('search').value !== state.search)
    byId('search').value = state.search;
  const chosen = data.trees[Number(state.thread)] ?? data;
  for (const measure of MEASURES) {
    byId(`event-${measure}`).checked = measure === state.event;
    byId(`total-${measure}`).textContent = formatExact(measure, chosen.total[COLUMN[measure]]);
    byId(`total-${measure}`).value = chosen.total[COLUMN[measure]];
  }
}

/* A frame by the frames on the way to it: in the tree of other threads it is another node. Or everything. */
function sameFrame(node) {
  const path = node.ancestors().reverse().map(({data: {frame}}) => frame).filter((frame) => !frame.isMadeUp);
  const step = (from, frame) => from && (from.children ?? []).find((child) => child.data.frame === frame);
  const starts = state.thread === 'each' ? root.children ?? [] : [root];
  const found = path.length > 0 ? starts.map((start) => path.reduce(step, start)).filter(Boolean) : [];
  found.sort((a, b) => b.data.total[column()] - a.data.total[column()]);
  return found[0] ?? root;
}

function remakeTree() {
  if (rootThread === state.thread)
    return;
  root = buildTree(profile, state.thread);
  rootThread = state.thread;
  nodesById = [];
  root.each((node) => { nodesById[node.data.id] = node; });
  rootEvent = null;
}

/* Everything that depends on the state. */
function update() {
  const before = {root, zoomed, look: tree.dataset.look};
  remakeTree();
  if (rootEvent !== state.event)
    layOut(root, state.event);
  rootEvent = state.event;
  const wanted = nodesById[Number(state.zoom)] ?? root;
  zoomed = wanted.value > 0 ? wanted : root;
  if (before.root !== root || !current || !isOnView(current))
    current = zoomed;
  tree.dataset.look = state.look;
  findMatches();
  showControls();
  showLegend();
  showFound();
  showZoomed();
  showDetail(current);
  tree.style.height = `${(root.height + 1) * ROW_PX}px`;
  if (before.zoomed !== zoomed || before.look !== state.look)
    scrollTo(zoomed, true);
  draw();
  showTableSoon();
}

function set(key, value, isNewStep = true) {
  if (key === 'thread' && value !== state.thread) {
    const old = zoomed;
    state.thread = value;
    remakeTree();
    state.zoom = String(sameFrame(old).data.id);
  }
  state[key] = value;
  writeHash(isNewStep);
  update();
}

function setSearch(text) {
  rowsShown = ROWS_STEP;
  set('search', text, false);
}

function reset() {
  Object.assign(state, DEFAULTS, {theme: state.theme});
  rowsShown = ROWS_STEP;
  writeHash(true);
  update();
}

/* ---- once ---- */

function makeEventChoice(measure) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  const title = document.createElement('span');
  const total = document.createElement('data');
  input.type = 'radio';
  input.name = 'event';
  input.id = `event-${measure}`;
  input.addEventListener('change', () => set('event', measure));
  title.textContent = TITLES[measure];
  title.className = 'measure';
  total.id = `total-${measure}`;
  label.append(input, title, total);
  return label;
}

function makeOption(value, text) {
  const option = document.createElement('option');
  option.value = value;
  option.textContent = text;
  return option;
}

function makeHeader() {
  const start = new Date(Number(BigInt(data.start_utc_ns) / 1000000n));
  const isKnown = data.start_utc_ns !== '0' && !Number.isNaN(start.getTime());
  const iso = isKnown ? start.toISOString() : '';
  document.title = `${data.command} – wallprof`;
  byId('command').textContent = data.command;
  if (byId('command').scrollHeight > byId('command').clientHeight)
    byId('command').tabIndex = 0; /* long ones are scrolled through */
  byId('started').textContent = isKnown ? iso.replace('T', ' ').replace(/\.\d+Z/, ' UTC') : 'not known';
  byId('started').dateTime = iso;
  byId('duration').textContent = formatExact('wall', data.duration_ns);
  byId('threads').textContent = groupDigits(String(data.trees.reduce((sum, {threads}) => sum + threads, 0)));
  byId('samples').textContent = groupDigits(data.total[COLUMN.samples]);
  byId('comments').replaceChildren(...data.comments.map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
}

function makeControls() {
  byId('events').append(...MEASURES.map(makeEventChoice));
  byId('thread').append(makeOption('all', 'All, merged'), makeOption('each', 'All, one by one'),
                        ...data.trees.map((_, i) => makeOption(String(i), profile.threadFrames[i].name)));
  for (const measure of MEASURES) {
    const th = document.createElement('th');
    th.scope = 'col';
    th.textContent = TITLES[measure];
    byId('measures').append(th);
  }
  for (const id of ['thread', 'look', 'colour', 'theme'])
    byId(id).addEventListener('change', ({target}) => set(id, target.value));
  byId('search').addEventListener('input', ({target}) => setSearch(target.value));
  byId('search').addEventListener('keydown', (event) => event.key === 'Enter' && state.search && moveToMatch(1));
  byId('reset').addEventListener('click', reset);
  byId('more').addEventListener('click', () => {
    rowsShown += 4 * ROWS_STEP;
    showTable();
  });
  for (const th of byId('top').querySelectorAll('th[data-column]'))
    th.firstElementChild.addEventListener('click', () => set('sort', th.dataset.column));
}

const nodeOf = (event) => event.target.classList.contains('frame') ? d3.select(event.target).datum() : null;

function listen() {
  tree.addEventListener('click', (event) => nodeOf(event) && zoomTo(nodeOf(event), true));
  tree.addEventListener('mouseover', (event) => nodeOf(event) && showDetail(nodeOf(event)));
  tree.addEventListener('mouseleave', () => showDetail(current));
  tree.addEventListener('keydown', onTreeKey);
  document.addEventListener('keydown', onPageKey);
  scroller.addEventListener('scroll', drawSoon);
  new ResizeObserver(drawSoon).observe(scroller);
  window.addEventListener('hashchange', follow);
  window.addEventListener('popstate', follow);
  window.addEventListener('beforeprint', () => { isPrinting = true; draw(); });
  window.addEventListener('afterprint', () => { isPrinting = false; draw(); });
}

/* Somebody else changed the address: a link, "back". */
function follow() {
  if (hashOfState() === (location.hash || '#'))
    return;
  readHash();
  update();
}

function start() {
  makeHeader();
  makeControls();
  readHash();
  update();
  listen();
}

start();
})();
