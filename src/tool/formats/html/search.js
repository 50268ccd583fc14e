/*
 * The search. It looks at the names of functions first, of which there are far fewer than nodes. Then it looks for the time of
 * those that match, in a list of the nodes of each function.
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

/* Whoever goes to the search will type. */
function prepareSearch() {
  searchedTexts(false);
  nodesOfFrames();
}

/* ---- the time of matches ---- */

/* The nodes of each frame in the tree of calls, one frame after the other. */
class NodesByFrame {
  constructor(of) {
    const {frame, count} = of, next = new Int32Array(profile.frames.length + 1);
    for (let node = 0; node < count; node++)
      next[frame[node] + 1]++;
    for (let i = 1; i < next.length; i++)
      next[i] += next[i - 1];
    this.of = of;
    this.first = next.slice();
    this.nodes = new Int32Array(count);
    for (let node = 0; node < count; node++)
      this.nodes[next[frame[node]]++] = node;
  }

  nodesOf({number}) {
    return this.nodes.subarray(this.first[number], this.first[number + 1]);
  }
}

let nodesByFrame = null;
function nodesOfFrames() {
  if (nodesByFrame?.of !== calls)
    nodesByFrame = new NodesByFrame(calls);
  return nodesByFrame;
}

/* Few nodes: looks from each one outwards for another match, as far as nobody has looked. */
function outermostOfFew(lists) {
  const {parent, frame, root} = calls, outermost = [];
  const isFree = new Uint8Array(calls.count); /* neither it nor a caller of it is a match */
  isFree[root] = 1;
  for (const nodes of lists) {
    for (const node of nodes) {
      let caller = parent[node];
      while (!isFree[caller] && !isMatchFrame[frame[caller]])
        caller = parent[caller];
      if (!isFree[caller])
        continue;
      outermost.push(node);
      for (caller = parent[node]; !isFree[caller]; caller = parent[caller])
        isFree[caller] = 1;
    }
  }
  return outermost;
}

/* Many nodes: from the root on, what is inside the first match need not be looked at. */
function outermostOfMany() {
  const {firstChild, nextSibling, parent, frame, root} = calls, outermost = [];
  for (let node = firstChild[root]; node !== root;) {
    const isFound = isMatchFrame[frame[node]];
    if (isFound)
      outermost.push(node);
    if (!isFound && firstChild[node] !== 0) {
      node = firstChild[node];
      continue;
    }
    while (node !== root && nextSibling[node] === 0)
      node = parent[node];
    if (node !== root)
      node = nextSibling[node];
  }
  return outermost;
}

const MANY = 1 / 16; /* of all nodes */

/* The total of all stacks with a match, each once, in each recording; and the number of functions that have time in them. */
function matchedTotals() {
  const index = nodesOfFrames(), lists = Array.from(matches, (frame) => index.nodesOf(frame)), known = calls.ofAny('total', column());
  const isMany = lists.reduce((sum, {length}) => sum + length, 0) > MANY * calls.count;
  const outermost = isMany ? outermostOfMany() : outermostOfFew(lists);
  return {sums: calls.sides.map(({total}) => outermost.reduce((sum, node) => sum + total[column()][node], 0)),
          functions: lists.filter((nodes) => nodes.some((node) => known[node] > 0)).length};
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
