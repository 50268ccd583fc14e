/* The controls, and the start. Last of the parts. */

function legendItem(className, text) {
  const item = document.createElement('li');
  const swatch = document.createElement('span');
  swatch.className = `swatch ${className}`;
  item.append(swatch, text);
  return item;
}

const LEGENDS = {
  time: () => SPENT_WORDS.map((word, i) => [word, view.root.spent[i]]).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1])
    .map(([word, ns]) => legendItem(`spent-${word}`, `${SPENT[word]} ${formatTime(ns)}`)),
  state: () => [legendItem('by-state', 'blocked'), legendItem('by-state half', 'half of the time'), legendItem('by-state running', 'running'),
                ...MEASURES.includes('rundelay') ? [legendItem('by-state queued', 'waiting for a CPU')] : []],
  change: changeLegend,
  module: () => {
    const others = profile.modulesByWeight.length - PALETTE;
    return [...profile.modulesByWeight.slice(0, PALETTE).map((module) => legendItem(`module-${module.colour}`, module.name)),
            ...others > 0 ? [legendItem('module-other', `${others} others`)] : []];
  },
};

let legendOf = null; /* what of the state it is of */
function showLegend() {
  const wanted = `${viewOf} ${state.colour} ${state.search !== ''}`;
  if (legendOf === wanted)
    return;
  legendOf = wanted;
  const items = LEGENDS[state.colour]();
  if (state.search)
    items.push(legendItem('match', 'matches'));
  byId('legend').replaceChildren(...items);
}

function showZoomed() {
  const value = zoomed.totals[column()];
  byId('zoomed').textContent = zoomed === view.root && !view.callers ? ''
    : `${zoomed === view.root ? 'Callers and callees of' : 'Zoomed to'} ${zoomed.frame.name}: ${formatValue(state.event, value)}, ${formatShare(value, wholeTotal())} of all${changeOfNode(zoomed)}.`;
}

/* How much is not shown, of the threads that are. */
function showHidden({total, idle}) {
  const hidden = Number(idle[column()]);
  byId('hidden').textContent = state.idle === 'shown' || hidden === 0 ? ''
    : `Hidden: ${formatValue(state.event, hidden)}, ${formatShare(hidden, Number(total[column()]))} of ${TITLES[state.event]}, ` +
      'in which threads wait for work.';
  byId('idle').checked = state.idle === 'shown';
}

function totalsOfShown() {
  const trees = profile.threads.choice(state.thread).trees.filter((each) => profile.trees[each].side === shownSide());
  return shownRange(shownSide()) ? totalsOfRange(trees) : totalsOf(profile.threads, trees);
}

function showControls() {
  document.documentElement.dataset.theme = state.theme;
  for (const id of ['view', 'look', 'colour', 'theme'])
    byId(id).value = state[id];
  showMembers();
  if (byId('search').value !== state.search)
    byId('search').value = state.search;
  if (profile.isCompared)
    showComparison();
  const chosen = totalsOfShown();
  showHidden(chosen);
  for (const measure of MEASURES) {
    byId(`event-${measure}`).checked = measure === state.event;
    const idle = state.idle === 'shown' ? 0n : chosen.idle[COLUMN[measure]];
    const digits = state.filters ? String(wholeTotal(measure)) : String(chosen.total[COLUMN[measure]] - idle);
    const isKnown = measure !== 'blame' || !shownRange(shownSide()); /* nobody knows when anybody was blamed */
    byId(`total-${measure}`).textContent = isKnown ? formatValue(measure, Number(digits)) : 'not known';
    byId(`total-${measure}`).title = isKnown ? formatExact(measure, digits) : 'Blame is known of the whole run only';
    byId(`total-${measure}`).value = digits;
  }
}

/* Everything that depends on the state. */
function update() {
  const before = {zoomed, look: tree.dataset.look, hadFocus: tree.contains(document.activeElement)};
  const isOther = remakeView();
  zoomed = view.find(state.zoom);
  if (isOther || !isOnView(current))
    current = zoomed;
  tree.dataset.look = state.look;
  findMatches();
  byId('said').textContent = '';
  showControls();
  showChips();
  showTime();
  showLegend();
  showFound();
  showZoomed();
  showDetail(current);
  tree.style.height = `${rowCount() * ROW_PX}px`;
  if (before.zoomed !== zoomed || before.look !== state.look)
    scrollTo(zoomed, true);
  draw();
  if (before.hadFocus && !tree.contains(document.activeElement)) /* its element is of another view */
    elements.get(current).focus({preventScroll: true});
  showTableSoon();
}

function set(key, value, isNewStep = true) {
  const old = zoomed;
  state[key] = value;
  if (remakeView())
    state.zoom = view.findLike(old).id;
  writeHash(isNewStep);
  update();
}

function setSearch(text) {
  clearTimeout(searchTimer);
  rowsShown = ROWS_STEP;
  state.search = text;
  writeHash(false);
  if (byId('search').value !== text)
    byId('search').value = text;
  findMatches();
  showFound();
  showLegend();
  drawMatches();
  showTableSoon();
}

let searchTimer = 0;
function setSearchSoon(text) {
  clearTimeout(searchTimer);
  searchTimer = setTimeout(setSearch, SEARCH_DELAY_MS, text);
}

/* Whoever presses Enter does not wait for the search. */
function goToMatch(text) {
  if (text !== state.search)
    setSearch(text);
  moveToMatch(1);
}

function reset() {
  Object.assign(state, DEFAULTS, {theme: state.theme});
  rowsShown = ROWS_STEP;
  writeHash(true);
  update();
}

/* ---- once ---- */

function makeEventChoice(measure) {
  const label = document.createElement('label');
  const input = document.createElement('input');
  const title = document.createElement('span');
  const total = document.createElement('data');
  input.type = 'radio';
  input.name = 'event';
  input.id = `event-${measure}`;
  input.addEventListener('change', () => set('event', measure));
  title.textContent = TITLES[measure];
  title.className = 'measure';
  total.id = `total-${measure}`;
  label.append(input, title, total);
  return label;
}

function startOf({start_utc_ns: ns}) {
  const start = new Date(Number(BigInt(ns) / 1000000n));
  const isKnown = ns !== '0' && !Number.isNaN(start.getTime());
  const iso = isKnown ? start.toISOString() : '';
  return {iso, text: isKnown ? iso.replace('T', ' ').replace(/\.\d+Z/, ' UTC') : 'not known'};
}

/* In a comparison each comment says which recording it is of. */
const commentTexts = () => !profile.isCompared ? data.comments
  : profile.recordings.flatMap(({comments}, side) => comments.map((text) => `${side === AFTER ? 'After' : 'Before'}: ${text}`));

function makeHeader() {
  const start = startOf(data);
  document.title = `${data.command}${profile.isCompared ? ', compared' : ''} – wallprof`;
  byId('command').textContent = data.command;
  byId('command').title = data.command;
  byId('started').textContent = start.text;
  byId('started').dateTime = start.iso;
  for (const id of data.measure ? ['thread-time', 'samples'] : []) /* another program's profile has neither */
    byId(id).closest('dl > div').hidden = true;
  byId('thread-time').textContent = formatValue('wall', Number(data.total[COLUMN.wall]));
  byId('duration').textContent = formatTime(Number(data.duration_ns));
  byId('threads').textContent = formatCount(data.trees.reduce((sum, {threads}) => sum + threads, 0));
  byId('samples').textContent = formatCount(Number(data.total[COLUMN.samples]));
  byId('comments').replaceChildren(...commentTexts().map((text) => {
    const item = document.createElement('li');
    item.textContent = text;
    return item;
  }));
}

function makeControls() {
  byId('events').append(...MEASURES.map(makeEventChoice));
  makeThreadOptions();
  if (profile.isCompared)
    makeComparison();
  for (const id of ['thread', 'look', 'colour', 'theme'])
    byId(id).addEventListener('change', ({target}) => set(id, target.value));
  byId('idle').addEventListener('change', ({target}) => set('idle', target.checked ? 'shown' : 'hidden'));
  byId('search').addEventListener('focus', () => setTimeout(prepareSearch));
  byId('search').addEventListener('input', ({target}) => setSearchSoon(target.value));
  byId('search').addEventListener('keydown', ({key, target}) => key === 'Enter' && goToMatch(target.value));
  byId('member').addEventListener('change', ({target}) => set('thread', target.value));
  byId('view').addEventListener('change', ({target}) => setView(target.value));
  for (const button of byId('filters').querySelectorAll('button'))
    button.addEventListener('click', () => addFilter(button.dataset.filter));
  for (const button of byId('copy').querySelectorAll('button'))
    button.addEventListener('click', () => copy(button.dataset.copy));
  byId('sandwich').addEventListener('click', () => setView('sandwich'));
  byId('reset').addEventListener('click', reset);
  byId('more').addEventListener('click', () => {
    rowsShown += 4 * ROWS_STEP;
    showTable();
  });
  for (const th of byId('top').querySelectorAll('th[data-column]'))
    th.firstElementChild.addEventListener('click', () => set('sort', th.dataset.column));
}

const nodeOf = (event) => nodes.get(event.target) ?? (event.target === tree ? narrowAt(event) : undefined);

function listen() {
  tree.addEventListener('click', (event) => nodeOf(event) && zoomTo(nodeOf(event), true));
  tree.addEventListener('mouseover', (event) => nodes.has(event.target) && showDetail(nodes.get(event.target)));
  tree.addEventListener('mousemove', pointAt);
  tree.addEventListener('mouseleave', () => {
    forgetPointed();
    showDetail(current);
  });
  tree.addEventListener('keydown', onTreeKey);
  document.addEventListener('keydown', onPageKey);
  scroller.addEventListener('scroll', drawSoon);
  new ResizeObserver(drawSoon).observe(scroller);
  window.addEventListener('hashchange', follow);
  window.addEventListener('popstate', follow);
  window.addEventListener('beforeprint', () => { isPrinting = true; draw(); });
  window.addEventListener('afterprint', () => { isPrinting = false; draw(); });
}

/* The address was changed from outside: by a link, or by "back". */
function follow() {
  if (hashOfState() === (location.hash || '#'))
    return;
  readHash();
  update();
}

async function start() {
  profile = await readProfile();
  ({data} = profile);
  if (profile.recordings.every(({hasDelay}) => hasDelay))
    MEASURES.splice(MEASURES.indexOf('samples'), 0, 'rundelay');
  if (profile.recordings.some(({blame}) => blame !== undefined))
    MEASURES.splice(MEASURES.indexOf('samples'), 0, 'blame');
  if (data.measure)
    takeMeasure(...data.measure);
  if (profile.isCompared)
    takeComparison();
  makeHeader();
  makeControls();
  makeTime();
  tree.append(narrowPicture);
  readHash();
  update();
  listen();
}

/* Without this the page would be empty, and say nothing. */
function fail(error) {
  const place = byId('failure');
  place.hidden = false;
  place.textContent = window.DecompressionStream ? `The data of this page cannot be read: ${error.message}`
    : 'This browser is too old for this page. Chrome 80, Firefox 113 or Safari 16.4 can show it.';
}

start().catch(fail);
})();
