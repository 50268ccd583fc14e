/* What a frame waits for, and who held that: sums of the waits below it. */

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

/* [[thing, ns, [[holder, ns]...]]...], the longest first. */
function waitedFor(node) {
  const {waits, shown} = view.calls;
  const things = new Map(), holders = new Map();
  const within = waits.length > 0 ? nodesWithin(node) : [];
  for (const wait of waits) {
    if (wait.side !== shown || !within[wait.node])
      continue;
    addTo(things, wait.thing, wait.ns);
    if (!holders.has(wait.thing))
      holders.set(wait.thing, new Map());
    if (wait.holder)
      addTo(holders.get(wait.thing), wait.holder, wait.ns);
  }
  return byLength(things).map(([thing, ns]) => [thing, ns, byLength(holders.get(thing))]);
}

const THINGS_SHOWN = 6, HOLDERS_SHOWN = 3;

function thingText([thing, ns, holders], whole) {
  const held = holders.slice(0, HOLDERS_SHOWN).map(([holder, part]) => `${holder}\u00a0${formatShare(part, ns)}`);
  return `${thing}\u00a0${formatShare(ns, whole)}${held.length > 0 ? ` (held by ${held.join(', ')}${holders.length > HOLDERS_SHOWN ? ', …' : ''})` : ''}`;
}

/* "Waits for mutex journal_mutex 40 % (held by writer-2 86 %), file /f 12 %", in shares of its wall time. */
function waitsText(node) {
  const things = waitedFor(node);
  const texts = things.slice(0, THINGS_SHOWN).map((thing) => thingText(thing, node.totals[COLUMN.wall]));
  return texts.length > 0 ? `Waits for ${texts.join(', ')}${things.length > THINGS_SHOWN ? ', …' : ''}` : '';
}
