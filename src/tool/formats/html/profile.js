/*
 * The profile that is in the page: docs/formats.md describes its data. A comparison has two recordings, which become one
 * profile: the trees say which of them they are of, and what is the same in both is one module, one frame.
 *
 * The numbers of nodes are columns, and stay so. A large profile has half a million nodes: an object for each would take
 * seconds to make.
 */

/* ---- numbers: src/tool/formats/html_numbers.h ---- */

/* Not all browsers can do it by themselves. */
const bytesOf = (string) => Uint8Array.fromBase64 ? Uint8Array.fromBase64(string) : Uint8Array.from(atob(string), (letter) => letter.charCodeAt(0));

/* The bytes of all strings are one stream. */
async function inflate(strings) {
  const plain = new Blob(strings.map(bytesOf)).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

class NumberReader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /* The two are one function for two kinds of arrays: each is fast only if it knows one kind. */
  integers(count) {
    const column = new Int32Array(count), {bytes} = this;
    let {at} = this;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++], value = byte & 127;
      for (let shift = 7; byte >= 128; shift += 7) {
        byte = bytes[at++];
        value |= (byte & 127) << shift;
      }
      if (value === 0) {
        let scale = 1;
        do {
          byte = bytes[at++];
          i += (byte & 127) * scale;
          scale *= 128;
        } while (byte >= 128);
      }
      column[i] = value;
    }
    this.at = at;
    return column;
  }

  values(count) {
    const column = new Float64Array(count), {bytes} = this;
    let {at} = this;
    for (let i = 0; i < count; i++) {
      let byte = bytes[at++], value = byte & 127;
      for (let scale = 128; byte >= 128; scale *= 128) {
        byte = bytes[at++];
        value += (byte & 127) * scale;
      }
      if (value === 0) {
        let scale = 1;
        do {
          byte = bytes[at++];
          i += (byte & 127) * scale;
          scale *= 128;
        } while (byte >= 128);
      }
      column[i] = value;
    }
    this.at = at;
    return column;
  }

  /* Zigzag coded. */
  signed(count) {
    const column = this.values(count);
    for (let i = 0; i < count; i++) {
      const value = column[i];
      if (value !== 0)
        column[i] = value % 2 ? -(value + 1) / 2 : value / 2;
    }
    return column;
  }
}

/* One tree of the data, whose numbers are the next ones. */
class ThreadTree {
  constructor(given, reader, hasDelay, side, slices) {
    const {nodes} = given;
    this.side = side;
    this.count = nodes;
    this.up = reader.integers(nodes);
    this.location = reader.integers(nodes);
    this.samples = reader.values(nodes);
    this.cpu = reader.values(nodes);
    this.offcpu = reader.values(nodes);
    this.wait = reader.integers(nodes);
    this.rundelay = hasDelay ? reader.values(nodes) : new Float64Array(nodes);
    this.blame = given.blame === undefined ? null : reader.values(nodes);
    this.changes = given.has_changes ? [0, 1, 2, 3].map(() => reader.signed(nodes)) : null;
    this.times = given.times === undefined ? null : new Times(given.times, reader, this, hasDelay, slices.ns / UNITS_OF_SLICE);
  }
}

/* The locations of all recordings are one list, in which those of one begin at a place. */
function readTrees({data, numbers}, side, firstLocation) {
  const reader = new NumberReader(numbers);
  const trees = data.trees.map((given) => new ThreadTree(given, reader, data.hasDelay, side, data.slices));
  for (const {location} of side === AFTER ? [] : trees) {
    for (let i = 0; i < location.length; i++)
      location[i] += firstLocation;
  }
  return trees;
}

/* ---- frames ---- */

const lastPart = (path) => path.startsWith('[') ? path : path.slice(path.lastIndexOf('/') + 1);

/* A function in a module: what one frame of the graph stands for. */
class Frame {
  constructor(number, name, module, file, startLine) {
    this.number = number;       /* its place among the profile's frames */
    this.name = name || '[nameless]';
    this.module = module;
    this.file = file;
    this.startLine = startLine; /* 0: not known */
    this.isMadeUp = false;      /* a thread, or all of them */
    this.isWhole = false;       /* a module, as one frame */
  }
}

class Module {
  constructor(number, path) {
    this.number = number;
    this.path = path;
    this.name = lastPart(path);
    this.colour = 'other'; /* or its place in the palette */
    this.frames = new Map(); /* by the function's number */
    this.alike = new Map();  /* in a comparison: lists of frames, by name */
  }
}

/* The steps of a location are its frames, the outermost first: the function, and what is inlined there. */
class Steps {
  constructor(locations) {
    const count = locations.reduce((sum, location) => sum + (location.length - 1) / 2, 0);
    this.first = new Int32Array(locations.length + 1);
    this.frame = new Int32Array(count);
    this.line = new Int32Array(count);
    this.count = this.locations = 0;
  }

  add(frame, line) {
    this.frame[this.count] = frame.number;
    this.line[this.count++] = line;
  }

  endLocation() {
    this.first[++this.locations] = this.count;
  }
}

class Profile {
  constructor(recordings) {
    const {data} = recordings[AFTER];
    this.data = data;
    this.recordings = recordings.map((recording) => recording.data);
    this.isCompared = recordings.length > 1;
    this.modules = new Map();
    this.frames = [];
    this.given = this.recordings.flatMap(({trees}) => trees);
    this.trees = recordings.flatMap((recording, side) => readTrees(recording, side, data.locations.length));
    this.steps = new Steps(this.recordings.flatMap(({locations}) => locations));
    this.waitLabels = new Map(); /* by location: {text, isHolder} */
    this.blamed = null;          /* see isBlamed */
    this.recordings.forEach((recording, side) => this.readLocations(recording, side));
    this.spentOfWait = data.waits.map((word) => {
      const place = SPENT_WORDS.indexOf(word.replace(' ', '-'));
      return place < 0 ? SPENT_WORDS.indexOf('other') : place;
    });
    this.threadFrames = this.given.map((tree) => this.madeUp(threadName(tree)));
    this.everything = this.madeUp('all');
    this.threads = new Threads(this);
    this.moduleList = [...this.modules.values()];
    this.moduleList.forEach((module) => this.addWhole(module));
    this.colourModules();
  }

  addWhole(module) {
    module.whole = this.addFrame(module.name, module, '', 0);
    module.whole.isWhole = true;
  }

  /*
   * In a comparison a module is what has its file's name, wherever that is. The program's own file may have another name on
   * each side.
   */
  module(path, program) {
    const name = lastPart(path);
    const key = !this.isCompared ? path : program && name === program ? '/' : name;
    if (!this.modules.has(key))
      this.modules.set(key, new Module(this.modules.size, path));
    return this.modules.get(key);
  }

  addFrame(name, module, file, startLine) {
    const frame = new Frame(this.frames.length, name, module, file, startLine);
    this.frames.push(frame);
    return frame;
  }

  madeUp(name) {
    const frame = this.addFrame(name, this.module(''), '', 0);
    frame.isMadeUp = true;
    return frame;
  }

  frame({strings, functions}, side, index, module) {
    const key = side === AFTER ? index : ~index;
    let frame = module.frames.get(key);
    if (!frame) {
      const at = 3 * index;
      const said = [strings[functions[at]], module, strings[functions[at + 1]], functions[at + 2]];
      frame = this.isCompared ? this.frameOfBoth(...said) : this.addFrame(...said);
      module.frames.set(key, frame);
    }
    return frame;
  }

  /* A function is the same in both recordings if its name is, and its file's name, where both are known. */
  frameOfBoth(name, module, file, startLine) {
    const alike = module.alike.get(name) ?? [];
    let frame = alike.find((each) => !file || !each.file || lastPart(each.file) === lastPart(file));
    if (!frame)
      module.alike.set(name, [...alike, frame = this.addFrame(name, module, file, startLine)]);
    if (!frame.file)
      Object.assign(frame, {file, startLine});
    return frame;
  }

  /* From [module, function, line, function, line...], innermost first. */
  readLocations(recording, side) {
    const {locations, strings, program, wait_labels: labels} = recording;
    for (const [location, text, isHolder] of labels ?? [])
      this.waitLabels.set(this.steps.locations + location, {text: strings[text], isHolder: isHolder === 1});
    for (const location of locations) {
      const module = this.module(strings[location[0]], program);
      for (let at = location.length - 2; at > 0; at -= 2)
        this.steps.add(this.frame(recording, side, location[at], module), location[at + 1]);
      this.steps.endLocation();
    }
  }

  /* Of each node the location that its time is of: that of a wait label has no frames. */
  leavesOf({up, location, count}) {
    if (this.waitLabels.size === 0)
      return location;
    const leaves = location.slice(), path = []; /* by depth */
    for (let i = 0, depth = 0; i < count; i++) {
      depth += 1 - up[i];
      if (this.waitLabels.has(location[i]))
        leaves[i] = path[depth - 1] ?? location[i];
      path[depth] = leaves[i];
    }
    return leaves;
  }

  /* Visits each node that is a wait label's, with the thing and its holder, or ''. */
  forEachWait({up, location, count}, visit) {
    const things = []; /* by depth */
    for (let i = 0, depth = 0; i < count; i++) {
      depth += 1 - up[i];
      const label = this.waitLabels.get(location[i]);
      things[depth] = label?.isHolder ? things[depth - 1] : label?.text;
      if (things[depth])
        visit(i, things[depth], label.isHolder ? label.text : '');
    }
  }

  /* Whether any stack of any thread is blamed for a holder's part of a thing's waits. */
  isBlamed(side, thing, holder) {
    this.blamed ??= this.findBlamed();
    return this.blamed.has(`${side}\0${thing}\0${holder}`);
  }

  findBlamed() {
    const found = new Set();
    for (const tree of this.trees.filter(({blame}) => blame))
      this.forEachWait(tree, (i, thing, holder) => tree.blame[i] > 0 && found.add(`${tree.side}\0${thing}\0${holder}`));
    return found;
  }

  /* The heaviest modules have colours of their own. They are the same whichever threads are shown. */
  colourModules() {
    const {first, frame} = this.steps;
    const weightOf = new Float64Array(this.steps.locations);
    for (const tree of this.trees) {
      const {cpu, offcpu, count} = tree, leaf = this.leavesOf(tree);
      for (let i = 0; i < count; i++)
        weightOf[leaf[i]] += cpu[i] + offcpu[i];
    }
    const weights = new Map();
    weightOf.forEach((weight, place) => {
      if (weight === 0 || first[place] === first[place + 1])
        return;
      const {module} = this.frames[frame[first[place]]];
      weights.set(module, (weights.get(module) ?? 0) + weight);
    });
    weights.delete(this.module(''));
    this.modulesByWeight = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a.path < b.path ? -1 : 1));
    this.modulesByWeight.slice(0, PALETTE).forEach((module, i) => { module.colour = String(i); });
  }
}

/* What is not known is 0 in totals. */
function completeTotals(data) {
  data.hasDelay = data.total.length > COLUMN.rundelay;
  for (const each of [...data.trees, data]) {
    for (const [key, blame] of [['total', each.blame], ['idle']])
      each[key] = [...each[key], ...data.hasDelay ? [] : ['0'], blame ?? '0'];
  }
}

async function readRecording(element) {
  const data = JSON.parse(element.textContent);
  completeTotals(data);
  return {data, numbers: await inflate([...data.trees, data].map(({numbers}) => numbers))};
}

async function readProfile() {
  const elements = [byId('profile'), byId('before')].filter(Boolean);
  return new Profile(await Promise.all(elements.map(readRecording)));
}

function threadName(tree) {
  if (tree.name === undefined)
    return tree.threads > 0 ? 'all threads' : '[unknown threads]';
  return tree.id === undefined ? tree.name + (tree.threads > 1 ? ` × ${tree.threads}` : '') : `${tree.name} (${tree.id})`;
}
