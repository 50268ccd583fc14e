/*
 * Threads, in groups of those whose names differ only in the digits at their end, in the processes that they are of. A program has
 * hundreds of threads, and a handful of kinds of them. In a comparison a group has the threads of both recordings: no
 * thread of the one is a thread of the other.
 */

class ThreadGroup {
  constructor(title, trees) {
    this.title = title;
    this.trees = trees; /* their numbers */
    this.frame = null;
  }
}

class Process {
  constructor(title) {
    this.title = title;
    this.groups = new Map(); /* by title */
  }

  get trees() {
    return [...this.groups.values()].flatMap(({trees}) => trees).sort((a, b) => a - b);
  }
}

/* A thread's own name, without its process. */
function ownName({name, process}) {
  return process === undefined ? name ?? '' : name.slice(process.length).replace(/^: /, '');
}

const COMM_BYTES = 15; /* so much of its name a thread has of its program's */

class Threads {
  constructor(profile) {
    this.profile = profile;
    this.given = profile.given;
    const byTitle = new Map();
    this.given.forEach((tree, i) => {
      const title = this.processTitle(tree);
      if (!byTitle.has(title))
        byTitle.set(title, new Process(title));
      const {groups} = byTitle.get(title);
      const name = ownName(tree).replace(/\d+$/, '#');
      this.addTo(groups, ...this.isMain(tree, i) ? ['/', ownName(tree)] : [name, name], i);
    });
    this.processes = [...byTitle.values()];
    this.groups = this.processes.flatMap(({groups}) => [...groups.values()]);
    for (const each of [...this.processes, ...this.groups])
      each.frame = profile.madeUp(each.title ? this.titleOf(each) : 'threads');
  }

  /* Another run's processes have other numbers. */
  processTitle({process = ''}) {
    return this.profile.isCompared ? process.replace(/ \(\d+\)/, '') : process;
  }

  /* In a comparison a program's main thread is one group, whatever the program's file is called. */
  isMain(tree, i) {
    const {program} = this.profile.recordings[this.profile.trees[i].side];
    return this.profile.isCompared && Boolean(program) && ownName(tree) === program.slice(0, COMM_BYTES);
  }

  addTo(groups, key, title, tree) {
    if (groups.has(key))
      groups.get(key).trees.push(tree);
    else
      groups.set(key, new ThreadGroup(title, [tree]));
  }

  countOf(trees, side) {
    return trees.filter((tree) => this.profile.trees[tree].side === side).reduce((sum, tree) => sum + this.given[tree].threads, 0);
  }

  /* "worker × 3"; of a comparison "worker × 3, before × 2" */
  titleOf({title, trees}) {
    const count = this.countOf(trees, AFTER), before = this.countOf(trees, BEFORE);
    const text = count === 1 ? title : `${title || 'threads'} × ${formatCount(count)}`;
    return this.profile.isCompared && before !== count ? `${text}, before × ${formatCount(before)}` : text;
  }

  groupOf(tree) {
    return this.groups.findIndex(({trees}) => trees.includes(tree));
  }

  /*
   * What the address says of threads: all, each; p1, a process; g2, a group; e2, its threads one by one; or the number of a tree.
   * Null: it is not so, or a comparison does not have it. frame: null for all.
   */
  choice(text) {
    const [, letter, digits] = /^([pge]?)(\d{1,9})$/.exec(text) ?? [];
    const number = Number(digits);
    if (this.profile.isCompared && (letter === '' || letter === 'e'))
      return null;
    if (text === 'all' || text === 'each')
      return {trees: [...this.given.keys()], frame: null, isEach: text === 'each'};
    if (letter === '')
      return this.given[number] && {trees: [number], frame: 'thread', isEach: false};
    const of = letter === 'p' ? this.processes[number] : letter && this.groups[number];
    return of && {trees: of.trees, frame: of.frame, isEach: letter === 'e'};
  }
}

/* The sums of what is chosen, as digits: they may be more than a number holds. */
function totalsOf(threads, trees) {
  const sum = (key) => trees.map((tree) => threads.given[tree][key]).reduce((sums, each) => sums.map((digits, i) => digits + BigInt(each[i] ?? 0)),
                                                                           data[key].map(() => 0n));
  return {total: sum('total'), idle: sum('idle')};
}

/* ---- controls ---- */

function makeOption(value, text) {
  const option = document.createElement('option');
  option.value = value;
  option.textContent = text;
  return option;
}

/* A group of one thread is that thread. */
function groupOption(group) {
  const {threads} = profile;
  return group.trees.length > 1 || profile.isCompared ? makeOption(`g${threads.groups.indexOf(group)}`, group.frame.name)
    : makeOption(String(group.trees[0]), profile.threadFrames[group.trees[0]].name);
}

function processOptions(process, i) {
  const options = [...process.groups.values()].map(groupOption);
  if (profile.threads.processes.length === 1)
    return options;
  const made = document.createElement('optgroup');
  made.label = process.title || 'no process';
  made.append(...options.length > 1 ? [makeOption(`p${i}`, `${process.title || 'no process'}, all`)] : [], ...options);
  return [made];
}

function makeThreadOptions() {
  byId('thread').append(makeOption('all', 'All, merged'), makeOption('each', profile.isCompared ? 'All, by name' : 'All, one by one'), ...profile.threads.processes.flatMap(processOptions));
}

/* The threads of the group that is chosen, or of which one is. */
function showMembers() {
  const {threads} = profile;
  const isOfGroup = /^[ge]/.test(state.thread);
  const number = isOfGroup ? Number(state.thread.slice(1)) : /^\d/.test(state.thread) ? threads.groupOf(Number(state.thread)) : -1;
  const trees = threads.groups[number]?.trees ?? [];
  const hasMembers = trees.length > 1 && !profile.isCompared;
  byId('members').hidden = !hasMembers;
  byId('thread').value = !hasMembers ? state.thread : `g${number}`;
  if (byId('member').dataset.of !== String(number))
    byId('member').replaceChildren(makeOption(`g${number}`, 'All, merged'), makeOption(`e${number}`, 'One by one'),
                                   ...trees.map((tree) => makeOption(String(tree), profile.threadFrames[tree].name)));
  byId('member').dataset.of = String(number);
  byId('member').value = state.thread;
}
