/* The table of functions. */

/*
 * The self and total values of each function in the zoomed part. A function inside itself counts once. Callees stand
 * in lists in the tree of calls, so the walk needs no stack: it goes down, aside, or up again.
 */
class FunctionSums {
  constructor() {
    this.self = new Float64Array(profile.frames.length);
    this.total = new Float64Array(profile.frames.length);
    this.open = new Int32Array(profile.frames.length); /* calls of the function that the walk is in */
  }

  enter(node) {
    const frame = calls.frame[node];
    this.self[frame] += calls.self[column()][node];
    if (this.open[frame]++ === 0)
      this.total[frame] += calls.total[column()][node];
  }

  leave(node) {
    this.open[calls.frame[node]]--;
  }

  walk(top) {
    const {firstChild, nextSibling, parent} = calls;
    let node = top;
    this.enter(top);
    for (;;) {
      if (firstChild[node] !== 0) {
        node = firstChild[node];
      } else {
        while (node !== top && nextSibling[node] === 0) {
          this.leave(node);
          node = parent[node];
        }
        this.leave(node);
        if (node === top)
          return;
        node = nextSibling[node];
      }
      this.enter(node);
    }
  }

  addStack(source) {
    const {frame, parent, self} = calls;
    const value = self[column()][source];
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

  rows() {
    return profile.frames.filter((frame) => this.total[frame.number] > 0 && !frame.isMadeUp)
      .map((frame) => ({frame, self: this.self[frame.number], total: this.total[frame.number]}));
  }
}

let sumsOf = null;  /* what of the view the rows are of: a search only chooses among them */
let sumRows = [];

function rowsOfZoomed() {
  if (sumsOf !== zoomed)
    sumRows = functionTotals();
  sumsOf = zoomed;
  return sumRows;
}

/* Callers are zoomed to: of a sandwich its callees count, else all functions on the stacks. */
function functionTotals() {
  const sums = new FunctionSums();
  if (zoomed === view.root && zoomed.isCaller)
    sums.walk(calls.root);
  else if (zoomed.isCaller && !view.callers)
    zoomed.sources.forEach((source) => sums.addStack(source));
  else
    (zoomed.nodes ?? zoomed.sources).forEach((node) => sums.walk(node));
  return sums.rows();
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
  const all = rowsOfZoomed().filter(({frame}) => !state.search || matches.has(frame)).sort(ORDERS[state.sort]);
  const part = zoomed === view.root ? '' : `, in ${zoomed.frame.name}`;
  byId('rows').replaceChildren(...all.slice(0, rowsShown).map(functionRow));
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
