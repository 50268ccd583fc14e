/*
 * What a frame waits for, and who held that: sums of the waits below it. And the other way round: for what others waited while their
 * holder was in it, which is its blame.
 */

/* Which nodes of the tree of calls a frame's time is at: its own, or all below them too. */
function nodesWithin(node) {
  const {parent, count} = view.calls;
  const within = new Uint8Array(count);
  for (const top of node.isCaller ? node.sources : node.nodes)
    within[top] = 1;
  for (let at = 1; node.kind === 'total' && at < count; at++)
    within[at] |= within[parent[at]];
  return within;
}

const addTo = (sums, key, ns) => sums.set(key, (sums.get(key) ?? 0) + ns);
const byLength = (sums) => [...sums].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));

/* Of such waits, or of waits that are blamed on somebody: [[thing, ns, [[holder, ns]...]]...], the longest first. */
function thingsOf(node, waits) {
  const things = new Map(), holders = new Map();
  const within = waits.length > 0 ? nodesWithin(node) : [];
  for (const wait of waits) {
    if (wait.side !== view.calls.shown || !within[wait.node])
      continue;
    addTo(things, wait.thing, wait.ns);
    if (!holders.has(wait.thing))
      holders.set(wait.thing, new Map());
    if (wait.holder)
      addTo(holders.get(wait.thing), wait.holder, wait.ns);
  }
  return byLength(things).map(([thing, ns]) => [thing, ns, byLength(holders.get(thing))]);
}

/* ---- the holder's stack ---- */

/* Which of the calls that are shown has most of the blame for a holder's part of a thing's waits; undefined: none has any. */
function blamedCall(thing, holder) {
  const sums = new Map();
  for (const wait of calls.blames) {
    if (wait.side === calls.shown && wait.thing === thing && wait.holder === holder)
      addTo(sums, wait.node, wait.ns);
  }
  return byLength(sums)[0]?.[0];
}

/* Shows what a holder did meanwhile. It may be in threads, or in functions, that are not shown now. */
function showHolder(thing, holder) {
  const everything = {thread: 'all', filters: ''};
  for (const change of [{event: 'blame', view: 'callees', of: '', [RANGE_KEYS[shownSide()]]: ''}, everything]) {
    Object.assign(state, change);
    remakeView();
    const call = blamedCall(thing, holder);
    if (call === undefined)
      continue;
    zoomTo(view.find(String(call)), true);
    return;
  }
}

function holderButton(thing, holder) {
  const button = cell('button', holder);
  button.type = 'button';
  button.title = `Show what ${holder} did meanwhile`;
  button.addEventListener('click', () => showHolder(thing, holder));
  return button;
}

/* ---- for people ---- */

const THINGS_SHOWN = 6, HOLDERS_SHOWN = 3;

/* Whose stacks were not seen is no button. */
function holderParts(thing, [holder, part], whole) {
  const name = profile.isBlamed(shownSide(), thing, holder) ? holderButton(thing, holder) : holder;
  return [name, `\u00a0${formatShare(part, whole)}`];
}

function heldParts([thing, ns, holders]) {
  if (holders.length === 0)
    return [];
  const held = holders.slice(0, HOLDERS_SHOWN).flatMap((each, i) => [...i > 0 ? [', '] : [], ...holderParts(thing, each, ns)]);
  return [' (held by ', ...held, holders.length > HOLDERS_SHOWN ? ', …)' : ')'];
}

/* "Waits for mutex journal_mutex 40 % (held by writer-2 86 %), file /f 12 %", in shares of its wall time. */
function waitParts(node) {
  const things = thingsOf(node, view.calls.waits), whole = node.totals[COLUMN.wall];
  const parts = things.slice(0, THINGS_SHOWN).flatMap((thing, i) => [
    i > 0 ? ', ' : 'Waits for ', `${thing[0]}\u00a0${formatShare(thing[1], whole)}`, ...heldParts(thing)]);
  return things.length > THINGS_SHOWN ? [...parts, ', …'] : parts;
}

/* "Others waited 660.0 ms for it: mutex journal_mutex 86.36 %", in shares of its blame. */
function blameText(node) {
  const things = thingsOf(node, view.calls.blames), whole = node.totals[COLUMN.blame];
  const texts = things.slice(0, THINGS_SHOWN).map(([thing, ns]) => `${thing}\u00a0${formatShare(ns, whole)}`);
  return texts.length > 0 ? `Others waited ${formatTime(whole)} for it: ${texts.join(', ')}${things.length > THINGS_SHOWN ? ', …' : ''}` : '';
}
