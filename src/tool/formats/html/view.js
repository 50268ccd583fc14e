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

  get totals() {
    this.knownTotals ??= this.view.calls.total.map((_, column) => this.valueOf(column));
    return this.knownTotals;
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

  get first() {
    return this.nodes[0];
  }

  get id() {
    return String(this.first);
  }

  sum(column) {
    let sum = 0;
    for (const node of this.nodes)
      sum += column[node];
    return sum;
  }

  valueOf(column) {
    return this.sum(this.view.calls.total[column]);
  }

  get self() {
    return this.view.calls.self.map((column) => this.sum(column));
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

/* ---- views ---- */

class View {
  constructor(profile, calls, column) {
    this.profile = profile;
    this.calls = calls;
    this.column = column;
    this.root = new CalleeNode(this, null, profile.frames[calls.frame[calls.root]], [calls.root]);
    this.root.value = this.root.valueOf(column);
    this.height = calls.heightOf(calls.total[column]);
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

  find(id) {
    const step = (from, frame) => from?.children.find((child) => child.frame.number === frame);
    return this.framesTo(id).reduce(step, this.root) ?? this.root;
  }

  /* Finds the node of another view here, by the frames on the way to it; the root if it is not here. Threads are no part of the way. */
  findLike(node) {
    const path = node.ancestors().reverse().map(({frame}) => frame).filter(({isMadeUp}) => !isMadeUp);
    if (path.length === 0)
      return this.root;
    const step = (from, frame) => from?.children.find((child) => child.frame === frame);
    const found = this.starts(this.root).map((start) => path.reduce(step, start)).filter(Boolean);
    found.sort((a, b) => b.value - a.value);
    return found[0] ?? this.root;
  }

  /* Where stacks begin: at the root, and at threads. */
  starts(node) {
    return [node, ...node.children.filter(({frame}) => frame.isMadeUp).flatMap((child) => this.starts(child))];
  }
}

const widestChild = (node) => node.children[0] ?? null;
