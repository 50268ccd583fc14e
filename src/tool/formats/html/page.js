/* The table of functions, the controls, and the start. Last of three parts (profile.js). */

/* ---- the table ---- */

/* The self and total values of each function in the zoomed part. A function inside itself counts once. */
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

/* The table waits until the graph has been drawn. */
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

const LEGENDS = {
  time: () => SPENT_WORDS.map((word, i) => [word, root.data.spent[i]]).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1])
    .map(([word, ns]) => legendItem(`spent-${word}`, `${SPENT[word]} ${formatTime(ns)}`)),
  state: () => [legendItem('by-state', 'blocked'), legendItem('by-state half', 'half of the time'), legendItem('by-state running', 'running'),
                ...MEASURES.includes('rundelay') ? [legendItem('by-state queued', 'waiting for a CPU')] : []],
  module: () => {
    const others = profile.modulesByWeight.length - PALETTE;
    return [...profile.modulesByWeight.slice(0, PALETTE).map((module) => legendItem(`module-${module.colour}`, module.name)),
            ...others > 0 ? [legendItem('module-other', `${others} others`)] : []];
  },
};

function showLegend() {
  const items = LEGENDS[state.colour]();
  if (state.search)
    items.push(legendItem('match', 'matches'));
  byId('legend').replaceChildren(...items);
}

function showZoomed() {
  const value = zoomed.data.total[column()];
  byId('zoomed').textContent = zoomed === root ? ''
    : `Zoomed to ${zoomed.data.frame.name}: ${formatValue(state.event, value)}, ${formatShare(value, wholeTotal())} of all.`;
}

/* How much is not shown, of the threads that are. */
function showHidden({total, idle}) {
  const hidden = Number(idle[column()]);
  byId('hidden').textContent = state.idle === 'shown' || hidden === 0 ? ''
    : `Hidden: ${formatValue(state.event, hidden)}, ${formatShare(hidden, Number(total[column()]))} of ${TITLES[state.event]}, ` +
      'in which threads wait for work.';
  byId('idle').checked = state.idle === 'shown';
}

function showControls() {
  document.documentElement.dataset.theme = state.theme;
  for (const id of ['thread', 'look', 'colour', 'theme'])
    byId(id).value = state[id];
  if (byId('search').value !== state.search)
    byId('search').value = state.search;
  const chosen = data.trees[Number(state.thread)] ?? data;
  showHidden(chosen);
  for (const measure of MEASURES) {
    byId(`event-${measure}`).checked = measure === state.event;
    const idle = state.idle === 'shown' ? 0n : BigInt(chosen.idle[COLUMN[measure]]);
    const digits = String(BigInt(chosen.total[COLUMN[measure]]) - idle);
    byId(`total-${measure}`).textContent = formatExact(measure, digits);
    byId(`total-${measure}`).value = digits;
  }
}

/* Finds a node of another tree in the present one, by the frames on the way to it; the root if it is not there. */
function sameFrame(node) {
  const path = node.ancestors().reverse().map(({data: {frame}}) => frame).filter((frame) => !frame.isMadeUp);
  const step = (from, frame) => from && (from.children ?? []).find((child) => child.data.frame === frame);
  const starts = state.thread === 'each' ? root.children ?? [] : [root];
  const found = path.length > 0 ? starts.map((start) => path.reduce(step, start)).filter(Boolean) : [];
  found.sort((a, b) => b.data.total[column()] - a.data.total[column()]);
  return found[0] ?? root;
}

/* Nodes have the same numbers whether idle time is shown or not. */
function remakeTree() {
  const wanted = `${state.thread} ${state.idle}`;
  if (rootOf === wanted)
    return;
  root = buildTree(profile, state.thread, state.idle === 'shown');
  rootOf = wanted;
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
    byId('command').tabIndex = 0; /* a long command is scrolled with the keyboard */
  byId('started').textContent = isKnown ? iso.replace('T', ' ').replace(/\.\d+Z/, ' UTC') : 'not known';
  byId('started').dateTime = iso;
  for (const id of data.measure ? ['thread-time', 'samples'] : []) /* another program's profile has neither */
    byId(id).closest('dl > div').hidden = true;
  byId('thread-time').textContent = formatExact('wall', data.total[COLUMN.wall]);
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
  byId('idle').addEventListener('change', ({target}) => set('idle', target.checked ? 'shown' : 'hidden'));
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

/* The address was changed from outside: by a link, or by "back". */
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
