/*
 * Two recordings compared. The widths of the graph are of one of them, and its colours say how the other one differs.
 *
 * What is compared are times as they were measured, shares of all time, or times for equal work: those of AFTER are then
 * multiplied by the units of work of BEFORE and divided by its own.
 */

const FULL_CHANGE = 2; /* so many times as much has the full colour */

/* "1000,1200": the units of work of BEFORE and of AFTER. */
const areUnits = (text) => /^\d{1,12}(\.\d{1,9})?,\d{1,12}(\.\d{1,9})?$/.test(text) && text.split(',').every((each) => Number(each) > 0);

function scaleOf(side, measure) {
  const [before, after] = state.units.split(',').map(Number);
  const whole = calls.sides[side].total[COLUMN[measure]][calls.root];
  switch (state.scale) {
  case 'shares': return whole > 0 ? 1 / whole : 0;
  case 'work': return side === AFTER ? before / after : 1;
  default: return 1;
  }
}

/* Of the values of a measure on both sides. */
const compared = (measure, values) => ({before: values[BEFORE] * scaleOf(BEFORE, measure), after: values[AFTER] * scaleOf(AFTER, measure)});

const comparedTotals = (node, measure) => compared(measure, node.totalsOfSides.map((totals) => totals[COLUMN[measure]]));

/* ---- for people ---- */

const formatCompared = (measure, value) => state.scale === 'shares' ? formatShare(value, 1) : formatValue(measure, value);

const signOfChange = ({before, after}) => after > before ? '+' : after < before ? '\u2212' : '';

/* +300.0 ms */
function formatChange(measure, values) {
  const size = Math.abs(values.after - values.before);
  return signOfChange(values) + (state.scale === 'shares' ? `${(100 * size).toFixed(2)}\u00a0points` : formatValue(measure, size));
}

/* +25.0 %, of BEFORE */
function formatRelative({before, after}) {
  if (before === after)
    return '';
  if (before === 0 || after === 0)
    return before === 0 ? 'new' : 'gone';
  if (after / before >= 10)
    return `×\u00a0${formatDigits(after / before)}`;
  return `${signOfChange({before, after})}${(100 * Math.abs(after / before - 1)).toFixed(1)}\u00a0%`;
}

function changeText(values) {
  const of = compared(state.event, values);
  return [formatChange(state.event, of), formatRelative(of)].filter(Boolean).join(', ');
}

/* For the ends of sentences. */
const changeOfNode = (node) => profile.isCompared ? `, change ${changeText(node.totalsOfSides.map((totals) => totals[column()]))}` : '';

/* ---- colours ---- */

/* From -1, half as much or less, to 1, twice as much or more. */
function changeOf({before, after}) {
  if (before === after)
    return 0;
  return before === 0 ? 1 : after === 0 ? -1 : Math.max(-1, Math.min(1, Math.log(after / before) / Math.log(FULL_CHANGE)));
}

function changeColour(node) {
  const change = changeOf(comparedTotals(node, state.event));
  return `--more-share:${roughShare(Math.max(change, 0), 1)}%;--less-share:${roughShare(Math.max(-change, 0), 1)}%`;
}

const changeLegend = () => [legendItem('by-change less', 'half as much, or gone'), legendItem('by-change', 'the same'), legendItem('by-change more', 'twice as much, or new')];

/* ---- the details ---- */

const comparedTexts = (measure, values) => [formatCompared(measure, values.before), formatCompared(measure, values.after), formatChange(measure, values),
                                            formatRelative(values)];

function comparedRow(title, measure, values) {
  const tr = document.createElement('tr');
  tr.append(headerCell('row', title), ...comparedTexts(measure, values).map((text) => cell('td', text)));
  return tr;
}

/* How much chance can have moved a total of one recording; undefined: nobody knows. */
function barOf(node, side) {
  const values = node.totalsOfSides[side], changes = calls.changesOf(side);
  if (!changes || values[COLUMN.samples] === 0)
    return changes ? 0 : undefined;
  const [near, far] = changes.slice(2).map((which) => node.sum(which));
  return errorBars(values, near, far, profile.recordings[side].period_ns)[state.event] * scaleOf(side, state.event);
}

/* Both recordings have an error, and neither knows of the other. */
function chanceText(node) {
  const bars = hasBars(node) && ['wall', 'cpu', 'offcpu'].includes(state.event) ? [barOf(node, BEFORE), barOf(node, AFTER)] : [undefined];
  if (bars.includes(undefined))
    return '';
  const bar = Math.hypot(...bars);
  return Number.isNaN(bar) ? 'There are too few samples to tell this change from chance.'
    : `Chance alone can make a change of ${formatChange(state.event, {before: 0, after: bar}).slice(1)}.`;
}

/* A row for each measure, and one for what a function spends itself. */
function showComparedValues(node) {
  const rows = MEASURES.map((measure) => comparedRow(TITLES[measure], measure, comparedTotals(node, measure)));
  if (node.self)
    rows.splice(MEASURES.indexOf(state.event) + 1, 0,
                comparedRow('itself', state.event, compared(state.event, node.selfOfSides.map((self) => self[column()]))));
  byId('columns').replaceChildren(document.createElement('td'), ...['Before', 'After', 'Change', '%'].map((title) => headerCell('col', title)));
  byId('values').replaceChildren(...rows);
  byId('chance').textContent = chanceText(node);
}

/* ---- the controls ---- */

function setUnits() {
  const text = `${Number(byId('units-before').value)},${Number(byId('units-after').value)}`;
  if (areUnits(text))
    set('units', text);
  else
    byId('said').textContent = 'Units of work are numbers above 0.';
}

function showComparison() {
  const [before, after] = state.units.split(',');
  for (const id of ['side', 'scale'])
    byId(id).value = state[id];
  byId('units').hidden = state.scale !== 'work';
  byId('units-before').value = before;
  byId('units-after').value = after;
}

/* "4.183 s of thread time, 2025-11-24 16:00:00 UTC, ledger --fast": a command may be long. */
function recordingText(recording) {
  const {iso, text} = startOf(recording);
  const time = recording.measure ? '' : `${formatTime(Number(recording.total[COLUMN.wall]))} of thread time`;
  return [time, iso && text, recording.command].filter(Boolean).join(', ');
}

function makeComparison() {
  byId('comparison').hidden = false;
  byId('measures').className = 'compared';
  for (const [id, side] of [['of-before', BEFORE], ['of-after', AFTER]])
    byId(id).textContent = byId(id).title = recordingText(profile.recordings[side]);
  byId('colour').prepend(makeOption('change', 'Change'));
  byId('thread').title = 'Threads of one name: a single thread has no counterpart in the other recording';
  for (const id of ['side', 'scale'])
    byId(id).addEventListener('change', ({target}) => set(id, target.value));
  for (const id of ['units-before', 'units-after'])
    byId(id).addEventListener('change', setUnits);
  makeComparedHead();
}

/* What a page has only if it compares. */
function takeComparison() {
  CHOICES.side.push('before');
  CHOICES.scale.push('shares', 'work');
  CHOICES.colour.push('change');
  CHOICES.sort.push('change', 'total-change');
  Object.assign(DEFAULTS, {colour: 'change', sort: 'change'});
}
