/* The table of functions. */

/* The self and total values of each function in the zoomed part, in one recording. A function inside itself counts once. */
class FunctionSums extends CallsWalk {
  constructor(side) {
    super(calls);
    this.selfOf = calls.sides[side].self[column()]; /* of each node of the tree of calls */
    this.totalOf = calls.sides[side].total[column()];
    this.self = new Float64Array(profile.frames.length);
    this.total = new Float64Array(profile.frames.length);
    this.open = new Int32Array(profile.frames.length); /* calls of the function that the walk is in */
  }

  enter(node) {
    const frame = calls.frame[node];
    this.self[frame] += this.selfOf[node];
    if (this.open[frame]++ === 0)
      this.total[frame] += this.totalOf[node];
  }

  leave(node) {
    this.open[calls.frame[node]]--;
  }

  addStack(source) {
    const {frame, parent} = calls;
    const value = this.selfOf[source];
    this.self[frame[source]] += value;
    for (let node = source; ; node = parent[node]) {
      if (this.open[frame[node]]++ === 0)
        this.total[frame[node]] += value;
      if (node === calls.root)
        break;
    }
    for (let node = source; node !== calls.root; node = parent[node])
      this.open[frame[node]] = 0;
    this.open[frame[calls.root]] = 0;
  }
}

/* Rows of the whole view and of what was zoomed to last: a search only chooses among them. */
const knownRows = {root: null, zoomed: null};

function rowsOfZoomed() {
  const place = zoomed === view.root ? 'root' : 'zoomed', scale = `${state.scale} ${state.units}`;
  const known = knownRows[place];
  if (known?.zoomed !== zoomed || known.scale !== scale)
    knownRows[place] = {zoomed, scale, rows: functionTotals()};
  return knownRows[place].rows;
}

/* Callers are zoomed to: of a sandwich its callees count, else all functions on the stacks. */
function functionSums(side) {
  const sums = new FunctionSums(side);
  if (zoomed === view.root && zoomed.isCaller)
    sums.walk(calls.root);
  else if (zoomed.isCaller && !view.callers)
    zoomed.sources.forEach((source) => sums.addStack(source));
  else
    (zoomed.nodes ?? zoomed.sources).forEach((node) => sums.walk(node));
  return sums;
}

/* What a comparison shows is in at least one recording. self and total: of each. */
function functionTotals() {
  const sums = profile.recordings.map((_, side) => functionSums(side));
  return profile.frames.filter(({number, isMadeUp}) => !isMadeUp && sums.some(({total}) => total[number] > 0))
    .map((frame) => ({frame, self: sums.map(({self}) => self[frame.number]), total: sums.map(({total}) => total[frame.number])}));
}

const compareText = (a, b) => a < b ? -1 : a > b ? 1 : 0;
const sizeOfChange = (values) => {
  const {before, after} = compared(state.event, values);
  return Math.abs(after - before);
};
const ORDERS = {
  self: (a, b) => b.self[AFTER] - a.self[AFTER] || b.total[AFTER] - a.total[AFTER],
  total: (a, b) => b.total[AFTER] - a.total[AFTER] || b.self[AFTER] - a.self[AFTER],
  change: (a, b) => sizeOfChange(b.self) - sizeOfChange(a.self) || sizeOfChange(b.total) - sizeOfChange(a.total),
  'total-change': (a, b) => sizeOfChange(b.total) - sizeOfChange(a.total) || sizeOfChange(b.self) - sizeOfChange(a.self),
  name: (a, b) => compareText(a.frame.name, b.frame.name),
  module: (a, b) => compareText(a.frame.module.name, b.frame.module.name) || ORDERS.self(a, b),
};

function exactCell(text, exact) {
  const td = cell('td', text);
  td.title = exact;
  return td;
}

function shareCell(value) {
  const td = cell('td', formatShare(value, wholeTotal()));
  td.className = 'share';
  return td;
}

/* Before, after, and the change: who points at one sees the value as it was measured, or the change in per cent. */
function comparedCells(values) {
  const {before, after} = compared(state.event, values);
  const exact = (side) => formatExact(state.event, String(values[side]));
  return [exactCell(formatCompared(state.event, before), exact(BEFORE)), exactCell(formatCompared(state.event, after), exact(AFTER)),
          exactCell(formatChange(state.event, {before, after}), formatRelative({before, after}))];
}

const valueCells = ([value]) => [exactCell(formatValue(state.event, value), formatExact(state.event, String(value))), shareCell(value)];

function functionRow({frame, self, total}) {
  const tr = document.createElement('tr');
  tr.append(...[self, total].flatMap(profile.isCompared ? comparedCells : valueCells));
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
  where.className = 'module';
  where.textContent = frame.module.name;
  where.title = frame.module.path;
  return tr;
}

/* Before, after and change in place of a value and its share. */
function makeComparedHead() {
  const heads = [['Self before'], ['Self after', 'self'], ['Self change', 'change'], ['Total before'], ['Total after', 'total'], ['Total change', 'total-change']];
  const made = heads.map(([title, key]) => {
    const th = headerCell('col', key ? '' : title);
    if (key) {
      const button = cell('button', title);
      button.type = 'button';
      th.dataset.column = key;
      th.append(button);
    }
    return th;
  });
  byId('top').querySelectorAll('[data-column="self"], [data-column="total"], .share').forEach((th) => th.remove());
  byId('top').querySelector('thead tr').prepend(...made);
}

/* A row is made once for all searches, and the same rows are not set again. */
function setRows(wanted) {
  const rows = wanted.map((of) => of.made ??= functionRow(of)), {children} = byId('rows');
  if (rows.length !== children.length || rows.some((row, i) => row !== children[i]))
    byId('rows').replaceChildren(...rows);
}

function showTable() {
  const all = rowsOfZoomed().filter(({frame}) => !state.search || matches.has(frame)).sort(ORDERS[state.sort]);
  const part = zoomed === view.root ? '' : `, in ${zoomed.frame.name}`;
  setRows(all.slice(0, rowsShown));
  byId('top-note').textContent = `${TITLES[state.event]}${part}: ${formatCount(Math.min(rowsShown, all.length))} of ` +
    `${formatCount(all.length)} ${state.search ? 'functions that match' : 'functions'}`;
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
