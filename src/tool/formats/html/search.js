/*
 * The search. It looks at the names of functions first, of which there are far fewer than nodes. Then it takes one pass over the
 * tree of calls, in an order that is made when the search is gone to.
 */

const SEARCH_DELAY_MS = 60; /* after the last key */
let matches = new Set();    /* frames that the search has found */
let matchesOf = null;       /* the search that these are of */
let problem = '';           /* of a term that is no regular expression */
let isMatchFrame = null;    /* the same as matches, by the numbers of frames */
let isBelowMatch = null;    /* of each node of calls: whether it or a caller of it is a match */
let isAboveMatch = null;    /* whether it or a callee of it is one that has time */

/* What is looked at, by the numbers of frames: in lower case, and made when it is wanted first. */
const searched = {names: null, modules: null};
const lowerCase = (textOf) => profile.frames.map((frame) => textOf(frame).toLowerCase());

function searchedTexts(isOfModules) {
  return isOfModules ? searched.modules ??= lowerCase(({module}) => module.name) : searched.names ??= lowerCase(({name}) => name);
}

/* A term that stands in a name as it is, is text: `operator[]`. Any other may be a regular expression. */
function framesFound(term, isOfModules) {
  const lower = term.toLowerCase(), texts = searchedTexts(isOfModules);
  const found = profile.frames.filter(({isMadeUp, number}) => !isMadeUp && texts[number].includes(lower));
  if (found.length > 0 || !/[\\^$.*+?()[\]{}|]/.test(term))
    return found;
  const pattern = new RegExp(term, 'i');
  return profile.frames.filter(({isMadeUp, name, module}) => !isMadeUp && pattern.test(isOfModules ? module.name : name));
}

function findFrames() {
  const isOfModules = state.search.startsWith('in:');
  const term = isOfModules ? state.search.slice(3) : state.search;
  matches = new Set();
  problem = '';
  if (!term)
    return;
  try {
    matches = new Set(framesFound(term, isOfModules));
  } catch ({message}) {
    problem = message;
  }
}

/* What follows from the names is found out when it is wanted. */
function findMatches() {
  if (matchesOf === state.search)
    return;
  matchesOf = state.search;
  findFrames();
  isMatchFrame = new Uint8Array(profile.frames.length);
  for (const {number} of matches)
    isMatchFrame[number] = 1;
}

/* Callers come before callees. */
function findBelow() {
  const {parent, frame, count} = calls;
  isBelowMatch = new Uint8Array(count);
  for (let node = 0; node < count; node++)
    isBelowMatch[node] = isMatchFrame[frame[node]] | isBelowMatch[parent[node]];
}

function findAbove() {
  const {parent, frame, count} = calls;
  const total = calls.total[column()];
  isAboveMatch = new Uint8Array(count);
  for (let node = count - 1; node >= 0; node--) {
    isAboveMatch[node] |= isMatchFrame[frame[node]] & total[node] > 0;
    if (node > 0)
      isAboveMatch[parent[node]] |= isAboveMatch[node];
  }
}

/* ---- the time of matches ---- */

/*
 * The nodes of the tree of calls, each followed by all that it calls. So what is inside a match is skipped at once, and the rest is read in a row.
 */
class NodesInOrder extends CallsWalk {
  constructor(of) {
    super(of);
    for (const key of ['node', 'frame', 'end', 'place'])
      this[key] = new Int32Array(of.count); /* end: the place after all that a node calls */
    this.at = 0;
    this.walk(of.root);
    this.place = null; /* of each node: it was for making this */
  }

  enter(node) {
    this.place[node] = this.at;
    this.node[this.at] = node;
    this.frame[this.at++] = this.calls.frame[node];
  }

  leave(node) {
    this.end[this.place[node]] = this.at;
  }

  /* Those of matches that are inside no other one. */
  outermostMatches() {
    const {node, frame, end} = this, found = [];
    for (let at = 0; at < node.length;) {
      if (isMatchFrame[frame[at]]) {
        found.push(node[at]);
        at = end[at];
      } else {
        at++;
      }
    }
    return found;
  }
}

let nodesInOrder = null;
function orderedNodes() {
  if (nodesInOrder?.calls !== calls)
    nodesInOrder = new NodesInOrder(calls);
  return nodesInOrder;
}

let frameHasTime = null;    /* of each frame, whether any node of it has time */
let frameHasTimeOf = null;  /* what of the state that is of */
function framesWithTime() {
  const wanted = `${callsOf} ${state.event}`;
  if (frameHasTimeOf === wanted)
    return frameHasTime;
  const {frame, count} = calls, total = calls.ofAny('total', column());
  frameHasTimeOf = wanted;
  frameHasTime = new Uint8Array(profile.frames.length);
  for (let node = 0; node < count; node++) {
    if (total[node] > 0)
      frameHasTime[frame[node]] = 1;
  }
  return frameHasTime;
}

/* Whoever goes to the search will type. */
function prepareSearch() {
  searchedTexts(false);
  orderedNodes();
  framesWithTime();
}

/* The total of all stacks with a match, each once, in each recording; and the number of functions that have time in them. */
function matchedTotals() {
  const outermost = orderedNodes().outermostMatches(), hasTime = framesWithTime();
  let functions = 0;
  for (const {number} of matches)
    functions += hasTime[number];
  return {sums: calls.sides.map(({total}) => outermost.reduce((sum, node) => sum + total[column()][node], 0)), functions};
}

function foundText() {
  if (!state.search)
    return '';
  if (problem)
    return `“${state.search}” stands in no name, and is no regular expression. ${problem}`;
  const {sums, functions} = matchedTotals();
  const sum = sums[calls.shown];
  const change = profile.isCompared ? `, change ${changeText(sums)}` : '';
  const share = `${formatShare(sum, wholeTotal())} of ${TITLES[state.event]}${change}`;
  return functions === 0 ? `Nothing matches “${state.search}”.`
    : `${formatCount(functions)} ${functions === 1 ? 'function matches' : 'functions match'}: ${formatValue(state.event, sum)}, ${share}.`;
}

function showFound() {
  byId('found').textContent = foundText();
}

/* ---- from match to match ---- */

const isMatch = (node) => matches.has(node.frame);

/* Whether there is a match in the part of the view that a node is the top of. What has no time is not in the view. */
function leadsToMatch(node) {
  const weight = calls[node.kind][column()];
  return node.isCaller ? node.places.some((place, i) => isBelowMatch[place] && weight[node.sources[i]] > 0)
    : node.places.some((place) => isAboveMatch[place]);
}

/* Below the root of a sandwich its callers come after its callees. */
const branches = (node) => view.callers && node === view.root ? [...node.children, ...view.callers.children] : node.children;

function lastIn(node) {
  let last = node;
  for (let child = node; child; child = branches(child).findLast(leadsToMatch))
    last = child;
  return last;
}

function after(node) {
  const all = branches(node.parent);
  return all.slice(all.indexOf(node) + 1);
}

/* The next node, in the order of the tree, that a match can be in. After the last one comes the first. */
function nextNode(node) {
  let next = branches(node).find(leadsToMatch);
  for (let at = node; !next && at !== zoomed; at = at.parent)
    next = after(at).find(leadsToMatch);
  return next ?? zoomed;
}

function nodeBefore(node) {
  if (node === zoomed)
    return lastIn(zoomed);
  const all = branches(node.parent);
  const before = all.slice(0, all.indexOf(node)).findLast(leadsToMatch);
  return before ? lastIn(before) : node.parent;
}

function moveToMatch(step) {
  if (matches.size === 0)
    return;
  findBelow();
  findAbove();
  if (!leadsToMatch(zoomed) && !branches(zoomed).some(leadsToMatch))
    return;
  let node = current.isInside(zoomed) ? current : zoomed;
  do
    node = step > 0 ? nextNode(node) : nodeBefore(node);
  while (!isMatch(node) && node !== current);
  moveTo(node);
}
