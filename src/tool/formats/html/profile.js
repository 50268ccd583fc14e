/*
 * The page's program, first of three parts that become one script: numbers for people, the profile that is in
 * the page, and the tree that is made of it. graph.js draws the tree; page.js has the rest of the page.
 *
 * Every name, path and command line is somebody else's text. It only ever becomes text content, or the value of a
 * harmless attribute.
 */
'use strict';
(() => {

const MEASURES = ['wall', 'cpu', 'offcpu', 'samples']; /* and rundelay, where it is known */
const TITLES = {wall: 'Wall clock', cpu: 'CPU', offcpu: 'Off CPU', rundelay: 'Waiting for a CPU', samples: 'Samples'};
const UNITS = {wall: 'nanoseconds', cpu: 'nanoseconds', offcpu: 'nanoseconds', rundelay: 'nanoseconds', samples: 'count'};
const COLUMN = {samples: 0, cpu: 1, offcpu: 2, wall: 3, rundelay: 4}; /* of the values in the data */
const ROW_PX = 21;
const NARROWEST_PX = 0.7;   /* narrower frames are not drawn */
const NARROWEST_TEXT_PX = 28;
const FRAMES_MAX = 3000;    /* at most so many are drawn at a time, the widest ones */
const PALETTE = 9;          /* modules with a colour of their own */
const ROWS_STEP = 50;       /* rows of the table that are shown at first */
const DEFAULTS = {event: 'wall', thread: 'all', zoom: '0', search: '', look: 'icicle', colour: 'time', idle: 'hidden',
                  theme: 'auto', sort: 'self'};

/* What time is spent on: words of the style, and for people. All but the first are words of the data's `waits`. */
const SPENT = {running: 'running', cpu: 'waiting for a CPU', lock: 'lock', condition: 'condition', file: 'file',
               network: 'network', poll: 'poll', child: 'child', sleep: 'sleep', other: 'other', stopped: 'stopped', 'not-seen': 'not seen',
               idle: 'idle'};
const SPENT_WORDS = Object.keys(SPENT);
const RUNNING = 0, FOR_CPU = 1, IDLE = SPENT_WORDS.indexOf('idle');

const NODE_NUMBERS = 7;     /* of each node in the data: depth, location, values, what is waited for */

const byId = (id) => document.getElementById(id);

/* ---- numbers for people ---- */

const groupDigits = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u2009');

/* Four digits and a unit: 4.183 s, 12.34 ms. */
function formatTime(ns) {
  for (const [unit, size] of [['s', 1e9], ['ms', 1e6], ['µs', 1e3]]) {
    if (ns >= size) {
      const value = ns / size;
      return `${value >= 1000 ? groupDigits(value.toFixed(0)) : value.toPrecision(4)}\u00a0${unit}`;
    }
  }
  return `${Math.round(ns)}\u00a0ns`;
}

function formatValue(measure, value) {
  return UNITS[measure] === 'nanoseconds' ? formatTime(value) : formatExact(measure, String(Math.round(value)));
}

/* The exact value, from its digits in the data: a number may not hold them all. */
function formatExact(measure, digits) {
  if (UNITS[measure] !== 'nanoseconds')
    return groupDigits(digits) + (UNITS[measure] === 'count' ? '' : `\u00a0${UNITS[measure]}`);
  const padded = digits.padStart(10, '0');
  return `${groupDigits(padded.slice(0, -9))}.${padded.slice(-9)}\u00a0s`;
}

/* Another program's profile has one measure of its own. Nothing is known of waits and of chance. */
function takeMeasure(type, unit) {
  MEASURES.splice(0, MEASURES.length, 'wall');
  TITLES.wall = type;
  UNITS.wall = unit;
  DEFAULTS.colour = 'module';
}

/* ---- error bars: src/tool/report/report_error.h has the reasons ---- */

const SAMPLES_MIN = 5; /* with fewer there is no telling */
const END_OF_ONE_TICK = 1 / 5, END_OF_MANY = 1 / 3;

/* So much chance can have moved times in 95 of 100 recordings; NaN: too few samples. */
function errorBars(values, near, far, periodNs) {
  const [samples, cpu, , wall] = values;
  if (samples < SAMPLES_MIN)
    return {wall: NaN, cpu: NaN, offcpu: NaN};
  const ticks = Math.max(wall / samples / periodNs, 1);
  const end = END_OF_MANY - (END_OF_MANY - END_OF_ONE_TICK) / (ticks * ticks);
  const isShort = near > 0 ? Math.min(Math.max(2 - far / near, 0), 1) : 0;
  const bar = 1.96 * Math.sqrt(Math.max(near, 0) * 1e9 * (end + (1 - end) * isShort ** 1.5));
  const cpuShare = wall > 0 ? Math.min(cpu / wall, 1) : 0;
  return {wall: bar, cpu: bar * Math.sqrt(cpuShare), offcpu: bar * Math.sqrt(1 - cpuShare)};
}

/* No digit that is chance: "1.2 s ± 6 %", "400 ms ± ?" for a single sample. */
function formatWithin(ns, error) {
  if (!(ns > 0) || error === 0)
    return formatTime(ns);
  const first = 10 ** Math.floor(Math.log10(ns));
  const place = Math.min(Number.isNaN(error) ? first : 10 ** Math.floor(Math.log10(error)), first);
  const rounded = Math.round(ns / place) * place;
  const [unit, size] = [['s', 1e9], ['ms', 1e6], ['µs', 1e3]].find(([, size]) => rounded >= size) ?? ['ns', 1];
  const digits = Math.min(Math.max(Math.round(Math.log10(size / place)), 0), 3);
  const bar = Number.isNaN(error) ? '?' : `${(100 * error / ns).toPrecision(error < 0.1 * ns ? 1 : 2)}\u00a0%`;
  return `${groupDigits((rounded / size).toFixed(digits))}\u00a0${unit} ±\u00a0${bar}`;
}

const formatShare = (part, whole) => `${(whole > 0 ? 100 * part / whole : 0).toFixed(2)}\u00a0%`;

/* ---- what is in the page ---- */

/* A function in a module: what one frame of the graph stands for. */
class Frame {
  constructor(name, module, file, startLine) {
    this.name = name || '[nameless]';
    this.module = module;
    this.file = file;
    this.startLine = startLine; /* 0: not known */
    this.isMadeUp = false;      /* a thread, or all of them */
  }
}

class Module {
  constructor(path) {
    this.path = path;
    this.name = path.startsWith('[') ? path : path.slice(path.lastIndexOf('/') + 1);
    this.colour = 'other'; /* or its place in the palette */
  }
}

class Profile {
  constructor(data) {
    this.data = data;
    this.modules = new Map();
    this.frames = new Map();
    this.locations = data.locations.map((location) => this.readLocation(location));
    this.spentOfWait = data.waits.map((word) => {
      const place = SPENT_WORDS.indexOf(word.replace(' ', '-'));
      return place < 0 ? SPENT_WORDS.indexOf('other') : place;
    });
    this.threadFrames = data.trees.map((tree) => this.madeUp(threadName(tree)));
    this.everything = this.madeUp('all');
    this.colourModules();
  }

  module(path) {
    if (!this.modules.has(path))
      this.modules.set(path, new Module(path));
    return this.modules.get(path);
  }

  madeUp(name) {
    const frame = new Frame(name, this.module(''), '', 0);
    frame.isMadeUp = true;
    return frame;
  }

  frame(index, module) {
    const {strings, functions} = this.data;
    const key = `${index} ${module.path}`;
    if (!this.frames.has(key)) {
      const [name, file, startLine] = functions.slice(3 * index, 3 * index + 3);
      this.frames.set(key, new Frame(strings[name], module, strings[file], startLine));
    }
    return this.frames.get(key);
  }

  /* From [module, function, line, function, line...], innermost first, to steps of the tree, outermost first. */
  readLocation(location) {
    const module = this.module(this.data.strings[location[0]]);
    const steps = [];
    for (let i = location.length - 2; i > 0; i -= 2)
      steps.push({frame: this.frame(location[i], module), line: location[i + 1], isInlined: steps.length > 0});
    return steps;
  }

  /* The heaviest modules have colours of their own. They are the same whichever threads are shown. */
  colourModules() {
    const weights = new Map();
    for (const {nodes} of this.data.trees) {
      for (let at = 0; at < nodes.length; at += NODE_NUMBERS) {
        const {module} = this.locations[nodes[at + 1]][0].frame;
        weights.set(module, (weights.get(module) ?? 0) + nodes[at + 5]);
      }
    }
    weights.delete(this.module(''));
    this.modulesByWeight = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a.path < b.path ? -1 : 1));
    this.modulesByWeight.slice(0, PALETTE).forEach((module, i) => { module.colour = String(i); });
  }
}

function threadName(tree) {
  if (tree.name === undefined)
    return tree.threads > 0 ? 'all threads' : '[unknown threads]';
  return tree.id === undefined ? tree.name + (tree.threads > 1 ? ` × ${tree.threads}` : '') : `${tree.name} (${tree.id})`;
}

/* ---- the tree that is shown ---- */

class Node {
  constructor(id, frame) {
    this.id = id; /* in the order in which nodes are made: the same whenever the same tree is made */
    this.frame = frame;
    this.self = [0, 0, 0, 0, 0];
    this.total = null;
    this.spent = SPENT_WORDS.map(() => 0); /* wall time, by what it is spent on: its own, and then of all below it too */
    this.changes = [0, 0, 0, 0]; /* its own, and cumulative: near and far; these of all below it */
    this.callees = null; /* by frame */
    this.lines = null;
    this.isInlined = false;
  }
}

class TreeBuilder {
  constructor(profile, frame, showsIdle) {
    this.profile = profile;
    this.showsIdle = showsIdle;
    this.count = 0;
    this.root = this.make(frame);
  }

  make(frame) {
    return new Node(this.count++, frame);
  }

  callee(parent, frame) {
    parent.callees ??= new Map();
    let node = parent.callees.get(frame);
    if (!node)
      parent.callees.set(frame, node = this.make(frame));
    return node;
  }

  /* What was measured at a node itself. Idle time is left out if it is not to be shown. */
  weigh({self, spent}, nodes, at, rundelay) {
    const [samples, cpu, offcpu, wall] = [nodes[at + 2], nodes[at + 3], nodes[at + 4], nodes[at + 5]];
    const spentOn = this.profile.spentOfWait[nodes[at + 6]];
    const blocked = offcpu - rundelay;
    const isHidden = spentOn === IDLE && blocked > 0 && !this.showsIdle;
    self[0] += isHidden && blocked > cpu + rundelay ? 0 : samples;
    self[1] += cpu;
    self[2] += isHidden ? rundelay : offcpu;
    self[3] += isHidden ? wall - blocked : wall;
    self[4] += rundelay;
    spent[RUNNING] += cpu;
    spent[FOR_CPU] += rundelay;
    spent[spentOn] += isHidden ? 0 : blocked;
  }

  /* Nodes stand depth first. */
  add(tree, parent) {
    const {nodes, changes = [], rundelay = []} = tree;
    const path = [parent];
    const places = [];
    let next = 0; /* of those that have waited for a CPU: place, time */
    for (let at = 0; at < nodes.length; at += NODE_NUMBERS) {
      const depth = nodes[at];
      let node = path[depth - 1];
      for (const {frame, line, isInlined} of this.profile.locations[nodes[at + 1]]) {
        node = this.callee(node, frame);
        node.isInlined ||= isInlined;
        if (line > 0)
          (node.lines ??= new Set()).add(line);
      }
      const hasDelay = rundelay[next] === at / NODE_NUMBERS;
      this.weigh(node, nodes, at, hasDelay ? rundelay[next + 1] : 0);
      next += hasDelay ? 2 : 0;
      path[depth] = node;
      places.push(node);
    }
    for (let at = 0; at < changes.length; at += 5) {
      for (let i = 0; i < 4; i++)
        places[changes[at]].changes[i] += changes[at + 1 + i];
    }
  }
}

/* thread: all, each, or the number of one tree. */
function buildTree(profile, thread, showsIdle) {
  const {trees} = profile.data;
  const single = trees[Number(thread)];
  const builder = new TreeBuilder(profile, single ? profile.threadFrames[Number(thread)] : profile.everything, showsIdle);
  for (const [i, tree] of trees.entries()) {
    if (!single)
      builder.add(tree, thread === 'each' ? builder.callee(builder.root, profile.threadFrames[i]) : builder.root);
    else if (tree === single)
      builder.add(tree, builder.root);
  }
  const root = d3.hierarchy(builder.root, (node) => node.callees && node.callees.values());
  root.eachAfter((node) => {
    const total = node.data.self.slice();
    for (const child of node.children ?? []) {
      for (let i = 0; i < total.length; i++)
        total[i] += child.data.total[i];
      for (let i = 0; i < SPENT_WORDS.length; i++)
        node.data.spent[i] += child.data.spent[i];
    }
    node.data.total = total;
    for (const {data: {changes}} of node.children ?? []) {
      node.data.changes[2] += changes[2];
      node.data.changes[3] += changes[3];
    }
  });
  return root;
}

/* The widest child comes first. Children without a share come last, and are not shown. */
function layOut(root, measure) {
  const column = COLUMN[measure];
  root.each((node) => { node.value = node.data.total[column]; });
  root.sort((a, b) => b.value - a.value || a.data.id - b.data.id);
  d3.partition()(root);
  root.place = 0;
  root.each((node) => {
    const children = node.children ?? [];
    children.forEach((child, i) => { child.place = i; });
    node.shownCount = children.filter((child) => child.value > 0).length;
  });
}

const widestChild = (node) => node.shownCount > 0 ? node.children[0] : null;
