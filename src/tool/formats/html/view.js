/*
 * What is drawn of the tree of calls. A node of it is made when its caller is opened, so a view costs what is seen of it,
 * not what there is.
 */

/* ---- nodes ---- */

class ViewNode {
  constructor(view, parent, frame) {
    this.view = view;
    this.parent = parent;
    this.frame = frame;
    this.depth = parent ? parent.depth + 1 : 0;
    this.x0 = 0;
    this.x1 = 1;
    this.place = 0;
    this.opened = null;
    this.value = 0;
  }

  /* The widest comes first. What has no value is not shown. */
  get children() {
    if (!this.opened) {
      const children = this.group().filter((child) => (child.value = child.valueOf(this.view.column)) > 0);
      children.sort((a, b) => b.value - a.value || a.first - b.first);
      this.layOut(children);
      this.opened = children;
    }
    return this.opened;
  }

  layOut(children) {
    const scale = (this.x1 - this.x0) / this.value;
    let x = this.x0;
    children.forEach((child, i) => {
      child.place = i;
      child.x0 = x;
      child.x1 = x += child.value * scale;
    });
  }

  valueOf(column) {
    return this.sum(this.view.calls[this.kind][column]);
  }

  /* Of each recording. */
  get totalsOfSides() {
    this.knownTotals ??= this.view.calls.sides.map((side) => side[this.kind].map((column) => this.sum(column)));
    return this.knownTotals;
  }

  get totals() {
    return this.totalsOfSides[this.view.calls.shown];
  }

  /* Wall time by what it is spent on. */
  get spent() {
    this.knownSpent ??= this.spentColumns.map((column) => column ? this.sum(column) : 0);
    return this.knownSpent;
  }

  ancestors() {
    const found = [];
    for (let node = this; node; node = node.parent)
      found.push(node);
    return found;
  }

  /* With itself among them. */
  get siblings() {
    return this.parent?.children ?? [this];
  }

  isInside(of) {
    let node = this;
    while (node && node.depth > of.depth)
      node = node.parent;
    return node === of;
  }
}

/* Calls of one function: some nodes of the tree of calls, none of them below another. Its children are its callees. */
class CalleeNode extends ViewNode {
  constructor(view, parent, frame, nodes) {
    super(view, parent, frame);
    this.nodes = nodes;
  }

  get isCaller() {
    return false;
  }

  get kind() {
    return 'total';
  }

  get first() {
    return this.nodes[0] ?? 0;
  }

  get id() {
    return this === this.view.root ? '0' : String(this.first);
  }

  sum(column) {
    let sum = 0;
    for (const node of this.nodes)
      sum += column[node];
    return sum;
  }

  get selfOfSides() {
    return this.view.calls.sides.map(({self}) => self.map((column) => this.sum(column)));
  }

  get self() {
    return this.selfOfSides[this.view.calls.shown];
  }

  get spentColumns() {
    return this.view.calls.spentTotal;
  }

  group() {
    const {calls, profile} = this.view;
    const groups = new Map();
    for (const node of this.nodes) {
      for (let child = calls.firstChild[node]; child !== 0; child = calls.nextSibling[child]) {
        const group = groups.get(calls.frame[child]);
        if (group)
          group.push(child);
        else
          groups.set(calls.frame[child], [child]);
      }
    }
    return Array.from(groups, ([frame, nodes]) => new CalleeNode(this.view, this, profile.frames[frame], nodes));
  }

  /* The nodes whose lines these are. */
  get places() {
    return this.nodes;
  }
}

/*
 * Callers of one function. It stands for some nodes of the tree of calls, `sources`, whose time it has: the functions that
 * spend it, or those of which the callers are looked for. `places` are the callers of these, as far up as this node is
 * deep. Its children are their callers.
 */
class CallerNode extends ViewNode {
  constructor(view, parent, frame, sources, places) {
    super(view, parent, frame);
    this.sources = sources;
    this.places = places;
  }

  get isCaller() {
    return true;
  }

  get kind() {
    return this.view.kind;
  }

  get first() {
    return this.sources[0] ?? 0;
  }

  get id() {
    return this.depth === 0 ? '0' : `${this.first}.${this.depth}`;
  }

  get siblings() {
    return this.view.callers && this.depth === 1 ? this.view.callers.children : super.siblings;
  }

  sum(column) {
    let sum = 0;
    for (const source of this.sources)
      sum += column[source];
    return sum;
  }

  get spentColumns() {
    return this.view.spentWeights;
  }

  /* The functions that spend time stand below the root of a view of callers; all else stands below what it calls. */
  group() {
    const {calls, profile, root} = this.view;
    const isTop = this === root;
    const groups = new Map();
    this.sources.forEach((source, i) => {
      const place = isTop ? source : calls.parent[this.places[i]];
      if (place === calls.root && !isTop)
        return;
      const frame = calls.frame[place];
      if (!groups.has(frame))
        groups.set(frame, new CallerNode(this.view, this.depth === 0 ? root : this, profile.frames[frame], [], []));
      groups.get(frame).sources.push(source);
      groups.get(frame).places.push(place);
    });
    return [...groups.values()];
  }
}

/* ---- views ---- */

/* One or two sides, each with the callees or the callers of its root. sign: whether they are below it in an icicle. */
class View {
  constructor(profile, calls, column) {
    this.profile = profile;
    this.calls = calls;
    this.column = column;
    this.callers = null; /* the root of the other side */
  }

  setRoot(root, height) {
    this.root = root;
    this.root.value = root.valueOf(this.column);
    this.sides = [{root, height, sign: 1}];
    return this;
  }

  sideOf(node) {
    return this.callers && node.isCaller ? this.sides[1] : this.sides[0];
  }

  /* The frames on the way to a node, without the root's. */
  framesTo(id) {
    const {calls} = this;
    const frames = [];
    let node = Number(id);
    if (!(node < calls.count))
      return [];
    for (; node !== calls.root; node = calls.parent[node])
      frames.push(calls.frame[node]);
    return frames.reverse();
  }

  framesToCaller(source, depth) {
    const {calls} = this;
    const frames = [];
    let node = this.callers ? calls.parent[source] : source;
    for (; frames.length < depth && (node > 0 || frames.length === 0) && node < calls.count; node = calls.parent[node])
      frames.push(calls.frame[node]);
    return frames;
  }

  find(id) {
    const [first, depth] = id.split('.').map(Number);
    const step = (from, frame) => from?.children.find((child) => child.frame.number === frame);
    if (depth > 0)
      return this.framesToCaller(first, depth).reduce(step, this.callers ?? this.root) ?? this.root;
    return this.framesTo(first).reduce(step, this.root) ?? this.root;
  }

  /* Finds the node of another view of the same kind here, by the frames on the way to it; the root if it is not here. Threads
   * are no part of the way. */
  findLike(node) {
    const path = node.ancestors().reverse().slice(1).map(({frame}) => frame).filter(({isMadeUp}) => !isMadeUp);
    if (path.length === 0)
      return this.root;
    const step = (from, frame) => from?.children.find((child) => child.frame === frame);
    const starts = this.callers && node.isCaller ? [this.callers] : this.starts(this.root);
    const found = starts.map((start) => path.reduce(step, start)).filter(Boolean);
    found.sort((a, b) => b.value - a.value);
    return found[0] ?? this.root;
  }

  /* Where stacks begin: at the root, and at threads. */
  starts(node) {
    return [node, ...node.children.filter(({frame}) => frame.isMadeUp).flatMap((child) => this.starts(child))];
  }
}

/* What functions call: from the outermost ones on. */
class CalleesView extends View {
  constructor(profile, calls, column) {
    super(profile, calls, column);
    const root = new CalleeNode(this, null, profile.frames[calls.frame[calls.root]], [calls.root]);
    this.setRoot(root, calls.heightOf(calls.total[column]));
  }
}

/* Who calls functions: from those on in which time is spent. */
class CallersView extends View {
  constructor(profile, calls, column) {
    super(profile, calls, column);
    this.kind = 'self'; /* what callers have of their sources */
    this.spentWeights = calls.spent;
    const sources = [];
    calls.ofAny('self', column).forEach((value, node) => value > 0 && sources.push(node));
    const root = new CallerNode(this, null, profile.frames[calls.frame[calls.root]], sources, sources);
    this.setRoot(root, calls.heightOf(calls.self[column]));
  }
}

/* What one function calls, and who calls it, wherever that is. A call of it inside itself is one of its callees. */
class SandwichView extends View {
  constructor(profile, calls, column, frame) {
    super(profile, calls, column);
    this.kind = 'total';
    this.spentWeights = calls.spentTotal;
    const {tops, below, above} = this.callsOf(frame);
    this.setRoot(new CalleeNode(this, null, profile.frames[frame], tops), below);
    this.callers = new CallerNode(this, null, profile.frames[frame], tops, tops);
    this.callers.value = this.root.value;
    this.sides.push({root: this.callers, height: above, sign: -1});
  }

  /* The outermost calls of a function, and how deep the stacks are below and above them. */
  callsOf(frame) {
    const {calls, column} = this;
    const top = new Int32Array(calls.count); /* the call that a node is below of, or 0 */
    const tops = [];
    const known = calls.ofAny('total', column);
    let below = 0, above = 0;
    for (let node = 1; node < calls.count; node++) {
      top[node] = top[calls.parent[node]];
      if (known[node] === 0)
        continue;
      if (top[node] === 0 && calls.frame[node] === frame) {
        top[node] = node;
        tops.push(node);
        above = Math.max(above, calls.depth[node] - 1);
      }
      if (top[node] !== 0)
        below = Math.max(below, calls.depth[node] - calls.depth[top[node]]);
    }
    return {tops, below, above};
  }

  framesTo(id) {
    const frames = super.framesTo(id);
    return frames.slice(frames.indexOf(this.root.frame.number) + 1);
  }
}

const widestChild = (node) => node.children[0] ?? null;
