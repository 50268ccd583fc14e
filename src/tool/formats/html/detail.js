/* The details of one frame. */

/* Lines of the calls that a frame stands for; where none is known, the function's first line. */
function lineText(node) {
  const {frame} = node;
  const lines = new Set(node.places.flatMap((place) => [...calls.linesOf(place)]));
  const numbers = lines.size > 0 ? [...lines] : frame.startLine ? [frame.startLine] : [];
  numbers.sort((a, b) => a - b);
  const said = numbers.slice(0, 5).join(', ') + (numbers.length > 5 ? ', …' : '');
  return frame.file ? frame.file + (said && `:${said}`) : '';
}

function cell(kind, text) {
  const made = document.createElement(kind);
  made.textContent = text;
  return made;
}

function headerCell(scope, text) {
  const th = cell('th', text);
  th.scope = scope;
  return th;
}

/* The root of a view of callers has the places of all functions. */
const isInlined = (node) => !node.frame.isMadeUp && node.places.some((place) => calls.isInlined[place]);

/*
 * Samples do not tell inlined functions apart, and the sums of threads are exact. Of one function in many stacks, bars are not
 * the sum of theirs.
 */
function hasBars(node) {
  return state.view === 'callees' && !node.frame.isMadeUp && calls.changesOf(calls.shown) && !isInlined(node) && !node.group().some(isInlined);
}

/* Values of all measures: its own, or with all that is below it. */
function valueTexts(node, values, changes) {
  const [near, far] = hasBars(node) ? changes.map((which) => node.sum(calls.changesOf(calls.shown)[which])) : [];
  const bars = hasBars(node) ? errorBars(values, near, far, data.period_ns) : {};
  return MEASURES.map((measure) => bars[measure] === undefined ? formatValue(measure, values[COLUMN[measure]])
    : formatWithin(values[COLUMN[measure]], bars[measure]));
}

const shareTexts = (node, whole) => MEASURES.map((measure) => formatShare(node.totals[COLUMN[measure]], whole(measure)));
const ofZoomed = (measure) => zoomed.totals[COLUMN[measure]];

/* A row for each measure. */
function showValues(node) {
  const columns = [['Total', valueTexts(node, node.totals, [2, 3])], ...node.self ? [['Self', valueTexts(node, node.self, [0, 1])]] : [],
                   ['Of all', shareTexts(node, wholeTotal)], ...zoomed === view.root ? [] : [['Of zoomed', shareTexts(node, ofZoomed)]]];
  byId('columns').replaceChildren(document.createElement('td'), ...columns.map(([title]) => headerCell('col', title)));
  byId('values').replaceChildren(...MEASURES.map((measure, i) => {
    const tr = document.createElement('tr');
    tr.append(headerCell('row', TITLES[measure]), ...columns.map(([, texts]) => cell('td', texts[i])));
    return tr;
  }));
}

function showDetail(node) {
  const {frame} = node;
  byId('name').textContent = frame.name;
  byId('name').title = frame.name;
  byId('where').textContent = [frame.module.path, lineText(node), isInlined(node) && 'inlined'].filter(Boolean).join(' · ');
  byId('spent').textContent = spentOf(node).map(([word, share]) => `${SPENT[word]}\u00a0${formatShare(share, 1)}`).join(', ');
  byId('waited').replaceChildren(...waitParts(node));
  byId('blamed').textContent = blameText(node);
  (profile.isCompared ? showComparedValues : showValues)(node);
  const {frame: chosen} = current;
  byId('sandwich').disabled = chosen.isMadeUp;
  for (const button of byId('filters').querySelectorAll('button'))
    button.disabled = chosen.isMadeUp || chosen.isWhole || (button.dataset.filter === 'm' && !chosen.module.path);
}
