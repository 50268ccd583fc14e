/*
 * The tree of calls, with all threads that are shown in it: a node for each distinct path of frames. A node is a number,
 * and what is known of it stands in columns. A caller's number is less than those of its callees.
 */

/* Finds the node of a caller and a frame: a hash table with open addressing. */
class NodeTable {
  constructor(calls, capacity) {
    this.calls = calls;
    this.bits = Math.max(4, Math.ceil(Math.log2(2 * capacity)));
    this.slots = new Int32Array(2 ** this.bits);
  }

  /* A slot with the node, or the free one where it should be. Node 0 has no caller, and is in no slot. */
  slot(parent, frame) {
    const {calls, slots, bits} = this;
    const mask = slots.length - 1;
    let at = Math.imul(Math.imul(parent, 0x9e3779b1) ^ frame, 0x85ebca6b) >>> (32 - bits);
    for (; slots[at] !== 0; at = (at + 1) & mask) {
      const node = slots[at];
      if (calls.parent[node] === parent && calls.frame[node] === frame)
        break;
    }
    return at;
  }
}

const CALLEES_FEW = 8;

const floats = (count, capacity) => Array.from({length: count}, () => new Float64Array(capacity));

/* What one recording says of each node: a column for each measure. */
class Weights {
  constructor(capacity) {
    this.capacity = capacity;
    this.self = floats(COLUMNS, capacity);
    this.total = this.self.slice();
    this.spent = SPENT_WORDS.map(() => null); /* wall time by what it is spent on: its own */
    this.spentTotal = this.spent.slice();     /* and of all below it too */
    this.changes = null;                      /* see Calls.changesOf */
  }

  spend(node, kind, ns) {
    if (ns !== 0)
      (this.spent[kind] ??= new Float64Array(this.capacity))[node] += ns;
  }

  /* No node comes to these any more. What room the columns have left was never touched, and takes no memory. */
  sumUp(calls) {
    for (const [own, total] of [[this.self, this.total], [this.spent, this.spentTotal]]) {
      own.forEach((column, i) => {
        own[i] = column && column.subarray(0, calls.count);
        total[i] = column && column.slice(0, calls.count);
      });
      total.filter(Boolean).forEach((column) => calls.addToCallers(column));
    }
  }
}

class Calls {
  constructor(frame, capacity, recordings) {
    this.count = 0;
    for (const key of ['parent', 'frame', 'depth', 'firstChild', 'nextSibling', 'newestLine'])
      this[key] = new Int32Array(capacity); /* 0: none */
    this.isInlined = new Uint8Array(capacity);
    this.inTable = new Uint8Array(capacity); /* whether its callees are in the table */
    this.sides = Array.from({length: recordings}, () => new Weights(capacity));
    this.show(AFTER);
    this.sources = [];                        /* trees of the profile, with the node of each of theirs */
    this.waits = [];                          /* of which is known for what: {side, node, thing, holder, ns} */
    this.blames = [];                         /* for which waits of others, as lists of the same form */
    this.lines = [0];                         /* of calls, as lists: a line, and the place of the next */
    this.table = new NodeTable(this, capacity);
    this.root = this.make(0, frame.number);
  }

  /* Which recording self, total, spent and spentTotal are of. */
  show(side) {
    const {self, total, spent, spentTotal} = this.sides[side];
    Object.assign(this, {shown: side, self, total, spent, spentTotal});
  }

  /* A column of all recordings together. */
  ofAny(kind, column) {
    const [first, ...others] = this.sides.map((side) => side[kind][column]);
    return others.reduce((sum, other) => sum.map((value, node) => value + other[node]), first);
  }

  make(parent, frame) {
    const node = this.count++;
    this.parent[node] = parent;
    this.frame[node] = frame;
    if (node > 0) {
      this.depth[node] = this.depth[parent] + 1;
      this.nextSibling[node] = this.firstChild[parent];
      this.firstChild[parent] = node;
    }
    return node;
  }

  /* Most nodes have few callees: to look through these is quicker than the table, which is all over the memory. */
  callee(parent, frame) {
    const {firstChild, nextSibling} = this;
    let steps = 0;
    for (let child = firstChild[parent]; child !== 0 && steps < CALLEES_FEW; child = nextSibling[child], steps++) {
      if (this.frame[child] === frame)
        return child;
    }
    return steps < CALLEES_FEW ? this.make(parent, frame) : this.calleeOfMany(parent, frame);
  }

  calleeOfMany(parent, frame) {
    if (!this.inTable[parent]) {
      for (let child = this.firstChild[parent]; child !== 0; child = this.nextSibling[child])
        this.table.slots[this.table.slot(parent, this.frame[child])] = child;
      this.inTable[parent] = 1;
    }
    const {slots} = this.table;
    const slot = this.table.slot(parent, frame);
    return slots[slot] || (slots[slot] = this.make(parent, frame));
  }

  addLine(node, line) {
    const {lines, newestLine} = this;
    if (newestLine[node] !== 0 && lines[newestLine[node]] === line)
      return;
    lines.push(line, newestLine[node]);
    newestLine[node] = lines.length - 2;
  }

  linesOf(node) {
    if (this.base)
      return this.linesOfSeveral(node);
    const found = new Set();
    for (let at = this.newestLine[node]; at !== 0; at = this.lines[at + 1])
      found.add(this.lines[at]);
    return found;
  }

  /* Of all nodes that went here: see filters.js. */
  linesOfSeveral(node) {
    const found = new Set();
    this.places.forEach((place, from) => {
      if (place === node && this.base.frame[from] === this.frame[node])
        this.base.linesOf(from).forEach((line) => found.add(line));
    });
    return found;
  }

  sumUp() {
    this.sides.forEach((side) => side.sumUp(this));
    return this;
  }

  /* Callers come before callees. */
  addToCallers(column) {
    for (let node = this.count - 1; node > 0; node--)
      column[this.parent[node]] += column[node];
  }

  /* What error bars are made of: of its own, and cumulative, near and far each. Not all views show any. */
  changesOf(side) {
    const weights = this.sides[side];
    const sources = this.sources.filter(({tree}) => tree.side === side && tree.changes);
    if (!weights.changes && sources.length > 0) {
      weights.changes = floats(4, this.count);
      for (const {tree, places} of sources)
        tree.changes.forEach((column, k) => addAt(weights.changes[k], places, column));
      weights.changes.slice(2).forEach((column) => this.addToCallers(column));
    }
    return weights.changes;
  }

  /* The deepest node with a value. */
  heightOf(column) {
    let height = 0;
    for (let node = 0; node < this.count; node++) {
      if (column[node] > 0 && this.depth[node] > height)
        height = this.depth[node];
    }
    return height;
  }
}

/*
 * Goes through a part of the tree of calls: enters and leaves each node of it. Callees stand in lists, so this needs no stack: it goes
 * down, aside, or up again.
 */
class CallsWalk {
  constructor(of) {
    this.calls = of;
  }

  walk(top) {
    const {firstChild, nextSibling, parent} = this.calls;
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
}

/* ---- from the profile ---- */

class CallsBuilder {
  constructor(profile, frame, trees, showsIdle) {
    const {first} = profile.steps;
    let most = 1 + 3 * trees.length;
    for (const {location, count} of trees) {
      for (let i = 0; i < count; i++)
        most += first[location[i] + 1] - first[location[i]];
    }
    this.profile = profile;
    this.showsIdle = showsIdle;
    this.calls = new Calls(frame, most, profile.recordings.length);
    this.firstWithLines = 0; /* of what is in both recordings there are AFTER's lines */
  }

  /* What was measured at a node itself. Idle time is left out if it is not to be shown. */
  weigh(node, tree, i) {
    const weights = this.calls.sides[tree.side], {self} = weights;
    const samples = tree.samples[i], cpu = tree.cpu[i], offcpu = tree.offcpu[i], rundelay = tree.rundelay[i];
    if (samples + cpu + offcpu === 0)
      return;
    const spentOn = this.profile.spentOfWait[tree.wait[i]];
    const blocked = offcpu - rundelay;
    const isHidden = spentOn === IDLE && blocked > 0 && !this.showsIdle;
    self[0][node] += isHidden && blocked > cpu + rundelay ? 0 : samples;
    self[1][node] += cpu;
    self[2][node] += isHidden ? rundelay : offcpu;
    self[3][node] += isHidden ? cpu + rundelay : cpu + offcpu;
    self[4][node] += rundelay;
    weights.spend(node, RUNNING, cpu);
    weights.spend(node, FOR_CPU, rundelay);
    weights.spend(node, spentOn, isHidden ? 0 : blocked);
  }

  step(from, location) {
    const {calls, profile: {steps: {first, frame, line}}} = this;
    let node = from;
    for (let at = first[location]; at < first[location + 1]; at++) {
      node = calls.callee(node, frame[at]);
      if (at > first[location])
        calls.isInlined[node] = 1;
      if (line[at] > 0 && node >= this.firstWithLines)
        calls.addLine(node, line[at]);
    }
    return node;
  }

  add(tree, top) {
    const {up, location, count} = tree;
    const path = [top];
    const places = new Int32Array(count);
    if (tree.side === BEFORE && this.firstWithLines === 0)
      this.firstWithLines = this.calls.count;
    for (let i = 0, depth = 0; i < count; i++) {
      depth += 1 - up[i];
      places[i] = path[depth] = this.step(path[depth - 1], location[i]);
    }
    for (let i = 0; i < count; i++)
      this.weigh(places[i], tree, i);
    if (tree.blame)
      addAt(this.calls.sides[tree.side].self[COLUMN.blame], places, tree.blame);
    this.calls.sources.push({tree, places});
    if (this.profile.waitLabels.size > 0)
      this.addWaits(tree, places);
  }

  /* Nodes of wait labels have no frames, so their time is at the node of their leaf. */
  addWaits(tree, places) {
    const {side, offcpu, rundelay, wait, blame} = tree;
    this.profile.forEachWait(tree, (i, thing, holder) => {
      const isHidden = this.profile.spentOfWait[wait[i]] === IDLE && !this.showsIdle, ns = offcpu[i] - rundelay[i];
      if (ns > 0 && !isHidden)
        this.calls.waits.push({side, node: places[i], thing, holder, ns});
      if (blame?.[i] > 0)
        this.calls.blames.push({side, node: places[i], thing, holder, ns: blame[i]});
    });
  }
}

function addAt(to, places, values) {
  for (let i = 0; i < values.length; i++)
    to[places[i]] += values[i];
}

/* Where a tree of the profile stands: in its process and its group, if these are told apart. */
function groupTop(calls, {threads, isCompared}, tree) {
  const process = threads.processes.find(({trees}) => trees.includes(tree));
  const group = threads.groups[threads.groupOf(tree)];
  const top = threads.processes.length > 1 ? calls.callee(calls.root, process.frame.number) : calls.root;
  return group.trees.length > 1 || isCompared ? calls.callee(top, group.frame.number) : top;
}

/* Two recordings have groups in common, and no threads. */
function threadTop(calls, profile, tree, isInGroups) {
  const top = isInGroups ? groupTop(calls, profile, tree) : calls.root;
  return profile.isCompared ? top : calls.callee(top, profile.threadFrames[tree].number);
}

/* thread: see Threads.choice */
function makeCalls(profile, thread, showsIdle) {
  const {trees, frame, isEach} = profile.threads.choice(thread);
  const top = frame === 'thread' ? profile.threadFrames[trees[0]] : frame ?? profile.everything;
  const builder = new CallsBuilder(profile, top, trees.map(shownTree), showsIdle);
  const {calls} = builder;
  for (const tree of trees)
    builder.add(shownTree(tree), isEach ? threadTop(calls, profile, tree, frame === null) : calls.root);
  return calls.sumUp();
}
