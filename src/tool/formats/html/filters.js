/*
 * What is left out of the tree of calls, or put together in it. Each filter is a letter and a number in the address, in the
 * order in which they were made: h12.m3. All apply at once.
 */

const FILTERS = {
  h: {title: (name) => `without ${name}`, list: 'frames'},          /* hidden: its callers get its time */
  f: {title: (name) => `only through ${name}`, list: 'frames'},     /* focus: only stacks with it */
  r: {title: (name) => `${name} without recursion`, list: 'frames'},
  m: {title: (name) => `${name} as one frame`, list: 'modules'},
};
const FILTERS_MAX = 31; /* one bit for each */

const filterList = () => state.filters.split('.').filter(Boolean);
const filtered = (filter) => FILTERS[filter[0]].list === 'frames' ? profile.frames[filter.slice(1)] : profile.moduleList[filter.slice(1)];

function areFilters(text) {
  const isFilter = (filter) => /^[hfrm]\d{1,9}$/.test(filter) && filtered(filter) && !filtered(filter).isMadeUp;
  const list = text.split('.');
  return list.length <= FILTERS_MAX && list.every(isFilter);
}

class CallsFilter {
  constructor(base, filters) {
    const numbers = (letter) => filters.filter((filter) => filter[0] === letter).map((filter) => Number(filter.slice(1)));
    this.base = base;
    this.isHidden = this.flags(numbers('h'));
    this.isOnce = this.flags(numbers('r'));
    this.focusBit = new Int32Array(profile.frames.length);
    numbers('f').forEach((frame, i) => { this.focusBit[frame] |= 1 << i; });
    this.allBits = this.focusBit.reduce((bits, bit) => bits | bit, 0);
    this.folded = Int32Array.from(profile.frames, ({number}) => number);
    for (const {module, number} of profile.frames)
      this.folded[number] = numbers('m').includes(module.number) ? module.whole.number : number;
    this.calls = new Calls(profile.frames[base.frame[base.root]], base.count, base.sides.length);
    this.calls.base = base;
  }

  flags(frames) {
    const flags = new Uint8Array(profile.frames.length);
    frames.forEach((frame) => { flags[frame] = 1; });
    return flags;
  }

  /* The nearest node of a frame, from a node outwards; 0: there is none. */
  around(from, frame) {
    const {calls} = this;
    let node = from;
    while (node !== calls.root && calls.frame[node] !== frame)
      node = calls.parent[node];
    return node;
  }

  /* Where a call of a frame goes, below the place of its caller. */
  place(caller, frame) {
    const {calls} = this;
    const seen = this.folded[frame];
    if (this.isHidden[frame] || (seen !== frame && calls.frame[caller] === seen))
      return caller;
    return (this.isOnce[frame] && this.around(caller, seen)) || calls.callee(caller, seen);
  }

  make() {
    const {base, calls} = this;
    const places = new Int32Array(base.count); /* where the nodes go */
    const bits = new Int32Array(base.count);   /* which of the focused functions a node is inside of */
    for (let node = 0; node < base.count; node++) {
      const frame = base.frame[node];
      if (node > 0)
        places[node] = this.place(places[base.parent[node]], frame);
      bits[node] = this.focusBit[frame] | (node > 0 && bits[base.parent[node]]);
      calls.isInlined[places[node]] |= base.isInlined[node] & !this.isHidden[frame];
    }
    const isKept = (node) => bits[node] === this.allBits;
    base.sides.forEach((from, side) => moveWeights(from, calls.sides[side], places, isKept));
    calls.places = places;
    for (const key of ['waits', 'blames'])
      calls[key] = base[key].filter(({node}) => isKept(node)).map((wait) => ({...wait, node: places[wait.node]}));
    return calls.sumUp();
  }
}

function moveTime(from, to, places, isKept) {
  for (let node = 0; node < places.length; node++) {
    if (from[node] !== 0 && isKept(node))
      to[places[node]] += from[node];
  }
}

function moveWeights(from, to, places, isKept) {
  from.self.forEach((column, i) => moveTime(column, to.self[i], places, isKept));
  from.spent.forEach((column, kind) => {
    if (column)
      moveTime(column, to.spent[kind] = new Float64Array(places.length), places, isKept);
  });
}

/* ---- controls ---- */

function setFilters(list) {
  const old = zoomed;
  state.filters = list.join('.');
  remakeView();
  state.zoom = view.findLike(old).id;
  writeHash(true);
  update();
}

/* Of the frame that the keyboard is at. */
function addFilter(letter) {
  const {frame} = current;
  const of = FILTERS[letter].list === 'frames' ? frame : frame.module;
  const filter = letter + of.number;
  if (frame.isMadeUp || frame.isWhole || (letter === 'm' && !of.path) || filterList().includes(filter) || filterList().length >= FILTERS_MAX)
    return;
  if (view.callers && letter === 'h' && frame === view.root.frame)
    Object.assign(state, {view: 'callees', of: ''}); /* nothing would be left */
  setFilters([...filterList(), filter]);
}

function makeChip(text, takeBack) {
  const item = document.createElement('li');
  const button = document.createElement('button');
  const cross = document.createElement('span');
  button.type = 'button';
  button.title = `${text}: take this back`;
  cross.textContent = '×';
  cross.setAttribute('aria-hidden', 'true');
  button.append(text, cross);
  button.addEventListener('click', takeBack);
  item.append(button);
  return item;
}

function showChips() {
  const chips = filterList().map((filter) => makeChip(FILTERS[filter[0]].title(filtered(filter).name),
                                                      () => setFilters(filterList().filter((each) => each !== filter))));
  byId('chips').replaceChildren(...strips.filter(({range}) => range).map((strip) => makeChip(strip.rangeText, () => strip.clearRange())), ...chips);
}
