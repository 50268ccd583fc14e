/*
 * The search. It looks at the names of functions first, of which there are far fewer than nodes. Then it takes one pass over
 * the tree of calls.
 */

const SEARCH_DELAY_MS = 60; /* after the last key */
let matches = new Set();    /* frames that the search has found */
let problem = '';           /* of a term that is no regular expression */
let isMatchFrame = null;    /* the same, by the numbers of frames */
let isBelowMatch = null;    /* of each node of calls: whether it or a caller of it is a match; null: not yet known */
let isAboveMatch = null;    /* whether it or a callee of it is one that has time */

/* A term that stands in a name as it is, is text: `operator[]`. Any other may be a regular expression. */
function makeTest(term, texts) {
  const lower = term.toLowerCase();
  const isText = texts.some((text) => text.toLowerCase().includes(lower));
  if (isText || !/[\\^$.*+?()[\]{}|]/.test(term))
    return (text) => text.toLowerCase().includes(lower);
  const pattern = new RegExp(term, 'i');
  return (text) => pattern.test(text);
}

function findFrames() {
  const isOfModules = state.search.startsWith('in:');
  const term = isOfModules ? state.search.slice(3) : state.search;
  const textOf = ({name, module}) => isOfModules ? module.name : name;
  const frames = profile.frames.filter(({isMadeUp}) => !isMadeUp);
  matches = new Set();
  problem = '';
  if (!term)
    return;
  try {
    const test = makeTest(term, frames.map(textOf));
    matches = new Set(frames.filter((frame) => test(textOf(frame))));
  } catch ({message}) {
    problem = message;
  }
}

/* What follows from the names is found out when it is wanted. */
function findMatches() {
  findFrames();
  isMatchFrame = Uint8Array.from(profile.frames, (frame) => matches.has(frame));
  isBelowMatch = isAboveMatch = null;
}

/* Callers come before callees. */
function findBelow() {
  const {parent, frame, count} = calls;
  isBelowMatch = new Uint8Array(count);
  for (let node = 0; node < count; node++)
    isBelowMatch[node] = isMatchFrame[frame[node]] | (node > 0 && isBelowMatch[parent[node]]);
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

const sumOfMatches = (self) => self.reduce((sum, value, node) => isBelowMatch[node] ? sum + value : sum, 0);

/* The total of all stacks with a match, each once, in each recording; and the number of functions that have time in them. */
function matchedTotals() {
  const {frame, count} = calls;
  const total = calls.ofAny('total', column());
  const isSeen = new Uint8Array(profile.frames.length);
  findBelow();
  for (let node = 0; node < count; node++) {
    if (isMatchFrame[frame[node]] && total[node] > 0)
      isSeen[frame[node]] = 1;
  }
  return {sums: calls.sides.map(({self}) => sumOfMatches(self[column()])), functions: isSeen.reduce((seen, each) => seen + each, 0)};
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
