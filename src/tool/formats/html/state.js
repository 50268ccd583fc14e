/* What is shown: all that a link to a view says, and what is made of it. */

let profile = null;
let data = null;
const state = {...DEFAULTS};
let allCalls = null;
let allCallsOf = null;       /* the threads, the range, and whether idle time is in them */
let calls = null;            /* what the filters leave of them */
let callsOf = null;          /* what of the state they are made of */
let view = null;
let viewOf = null;           /* what of the state the view is made of */
let zoomed = null;           /* nodes of the view */
let current = null;          /* where the keyboard is */
let rowsShown = ROWS_STEP;
let isPrinting = false;

const shownSide = () => state.side === 'before' ? BEFORE : AFTER;
const column = () => COLUMN[state.event];
const wholeTotal = (measure = state.event) => calls.total[COLUMN[measure]][calls.root];

const CHOICES = {
  view: ['callees', 'callers', 'sandwich'],
  look: ['icicle', 'flame'], colour: ['time', 'module', 'state'], idle: ['hidden', 'shown'], theme: ['auto', 'light', 'dark'],
  sort: ['self', 'total', 'name', 'module'], side: ['after'], scale: ['time'], map: ['hidden', 'shown'],
};

function allowed(key, value) {
  switch (key) {
  case 'event': return MEASURES.includes(value);
  case 'thread': return Boolean(profile.threads.choice(value));
  case 'zoom': return /^\d{1,9}(\.\d{1,9})?$/.test(value);
  case 'of': return /^\d{1,9}$/.test(value) && profile.frames[value]?.isMadeUp === false;
  case 'search': return true;
  case 'filters': return areFilters(value);
  case 'range': return isRange(value, AFTER);
  case 'range-before': return isRange(value, BEFORE);
  case 'units': return profile.isCompared && areUnits(value);
  default: return CHOICES[key].includes(value);
  }
}

function readHash() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(DEFAULTS)) {
    const value = given.get(key);
    state[key] = value !== null && allowed(key, value) ? value : DEFAULTS[key];
  }
  if (state.view === 'sandwich' && state.of === '')
    state.view = DEFAULTS.view;
}

function hashOfState() {
  const said = new URLSearchParams();
  for (const key of Object.keys(DEFAULTS)) {
    if (state[key] !== DEFAULTS[key])
      said.set(key, state[key]);
  }
  return said.size > 0 ? `#${said}` : '#';
}

/* Typing leaves one step for "back", not one for each letter. */
function writeHash(isNewStep) {
  const hash = hashOfState();
  if (hash === (location.hash || '#'))
    return;
  if (isNewStep)
    history.pushState(null, '', hash);
  else
    history.replaceState(null, '', hash);
}

/* ---- what is made of it ---- */

/* Nodes have the same numbers whether idle time is shown or not. */
function remakeCalls() {
  const wanted = `${state.thread} ${state.idle} ${state.range} ${state['range-before']}`;
  if (allCallsOf !== wanted)
    allCalls = makeCalls(profile, state.thread, state.idle === 'shown');
  allCallsOf = wanted;
  if (callsOf !== `${wanted} ${state.filters}`)
    calls = state.filters ? new CallsFilter(allCalls, filterList()).make() : allCalls;
  callsOf = `${wanted} ${state.filters}`;
  calls.show(shownSide());
}

/* Returns whether there is another view than before. */
function remakeView() {
  remakeCalls();
  const wanted = `${callsOf} ${state.event} ${state.view} ${state.of} ${state.side}`;
  if (viewOf === wanted)
    return false;
  view = makeView();
  viewOf = wanted;
  return true;
}

function makeView() {
  if (state.view === 'sandwich')
    return new SandwichView(profile, calls, column(), Number(state.of));
  return state.view === 'callers' ? new CallersView(profile, calls, column()) : new CalleesView(profile, calls, column());
}
