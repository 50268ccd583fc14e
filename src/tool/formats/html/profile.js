/*
 * The profile that is in the page: docs/formats.md describes its data.
 *
 * The numbers of nodes are columns, and stay so. A large profile has half a million nodes: an object for each would take
 * seconds to make.
 */

/* ---- numbers: src/tool/formats/html_numbers.h ---- */

/* The bytes of all strings are one stream. */
async function inflate(strings) {
  const pieces = strings.map(atob);
  const packed = new Uint8Array(pieces.reduce((sum, {length}) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    for (let i = 0; i < piece.length; i++)
      packed[at++] = piece.charCodeAt(i);
  }
  const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
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
  constructor(given, reader, hasDelay) {
    const {nodes} = given;
    this.count = nodes;
    this.up = reader.integers(nodes);
    this.location = reader.integers(nodes);
    this.samples = reader.values(nodes);
    this.cpu = reader.values(nodes);
    this.offcpu = reader.values(nodes);
    this.wait = reader.integers(nodes);
    this.rundelay = hasDelay ? reader.values(nodes) : new Float64Array(nodes);
    this.changes = given.has_changes ? [0, 1, 2, 3].map(() => reader.signed(nodes)) : null;
  }
}

/* ---- frames ---- */

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
    this.name = path.startsWith('[') ? path : path.slice(path.lastIndexOf('/') + 1);
    this.colour = 'other'; /* or its place in the palette */
    this.frames = new Map(); /* by the function's number */
  }
}

/* The steps of a location are its frames, the outermost first: the function, and what is inlined there. */
class Steps {
  constructor(locations) {
    const count = locations.reduce((sum, location) => sum + (location.length - 1) / 2, 0);
    this.first = new Int32Array(locations.length + 1);
    this.frame = new Int32Array(count);
    this.line = new Int32Array(count);
    this.count = 0;
  }

  add(frame, line) {
    this.frame[this.count] = frame.number;
    this.line[this.count++] = line;
  }
}

class Profile {
  constructor(data, numbers) {
    const reader = new NumberReader(numbers);
    const hasDelay = data.total.length > COLUMN.rundelay;
    this.data = data;
    this.modules = new Map();
    this.frames = [];
    this.trees = data.trees.map((given) => new ThreadTree(given, reader, hasDelay));
    this.readLocations();
    this.spentOfWait = data.waits.map((word) => {
      const place = SPENT_WORDS.indexOf(word.replace(' ', '-'));
      return place < 0 ? SPENT_WORDS.indexOf('other') : place;
    });
    this.threadFrames = data.trees.map((tree) => this.madeUp(threadName(tree)));
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

  module(path) {
    if (!this.modules.has(path))
      this.modules.set(path, new Module(this.modules.size, path));
    return this.modules.get(path);
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

  frame(index, module) {
    let frame = module.frames.get(index);
    if (!frame) {
      const {strings, functions} = this.data;
      const at = 3 * index;
      frame = this.addFrame(strings[functions[at]], module, strings[functions[at + 1]], functions[at + 2]);
      module.frames.set(index, frame);
    }
    return frame;
  }

  /* From [module, function, line, function, line...], innermost first. */
  readLocations() {
    const {locations, strings} = this.data;
    this.steps = new Steps(locations);
    locations.forEach((location, i) => {
      const module = this.module(strings[location[0]]);
      for (let at = location.length - 2; at > 0; at -= 2)
        this.steps.add(this.frame(location[at], module), location[at + 1]);
      this.steps.first[i + 1] = this.steps.count;
    });
  }

  /* The heaviest modules have colours of their own. They are the same whichever threads are shown. */
  colourModules() {
    const {first, frame} = this.steps;
    const weightOf = new Float64Array(this.data.locations.length);
    for (const {location, cpu, offcpu, count} of this.trees) {
      for (let i = 0; i < count; i++)
        weightOf[location[i]] += cpu[i] + offcpu[i];
    }
    const weights = new Map();
    weightOf.forEach((weight, place) => {
      const {module} = this.frames[frame[first[place]]];
      if (weight > 0)
        weights.set(module, (weights.get(module) ?? 0) + weight);
    });
    weights.delete(this.module(''));
    this.modulesByWeight = [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || (a.path < b.path ? -1 : 1));
    this.modulesByWeight.slice(0, PALETTE).forEach((module, i) => { module.colour = String(i); });
  }
}

async function readProfile() {
  const data = JSON.parse(byId('profile').textContent);
  return new Profile(data, await inflate([...data.trees, data].map(({numbers}) => numbers)));
}

function threadName(tree) {
  if (tree.name === undefined)
    return tree.threads > 0 ? 'all threads' : '[unknown threads]';
  return tree.id === undefined ? tree.name + (tree.threads > 1 ? ` × ${tree.threads}` : '') : `${tree.name} (${tree.id})`;
}
