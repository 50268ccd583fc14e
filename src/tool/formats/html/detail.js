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

function row(cells, header) {
  const tr = document.createElement('tr');
  const th = document.createElement('th');
  th.scope = 'row';
  th.textContent = header;
  tr.append(th);
  for (const text of cells) {
    const td = document.createElement('td');
    td.textContent = text;
    tr.append(td);
  }
  return tr;
}

const isInlined = (node) => node.places.some((place) => calls.isInlined[place]);

/*
 * Samples do not tell inlined functions apart, and the sums of threads are exact. Of one function in many stacks, bars are not
 * the sum of theirs.
 */
function hasBars(node) {
  return state.view === 'callees' && calls.changes && !node.frame.isMadeUp && !isInlined(node) && !node.group().some(isInlined);
}

/* A row of values: its own, or with all that is below it. */
function valuesRow(node, values, changes, title) {
  const [near, far] = hasBars(node) ? changes.map((which) => node.sum(calls.changes[which])) : [];
  const bars = hasBars(node) ? errorBars(values, near, far, data.period_ns) : {};
  return row(MEASURES.map((measure) => bars[measure] === undefined ? formatValue(measure, values[COLUMN[measure]])
    : formatWithin(values[COLUMN[measure]], bars[measure])), title);
}

function shareRow(node, whole, title) {
  return row(MEASURES.map((measure) => formatShare(node.totals[COLUMN[measure]], whole(measure))), title);
}

const ofZoomed = (measure) => zoomed.totals[COLUMN[measure]];

function showDetail(node) {
  const {frame} = node;
  byId('name').textContent = frame.name;
  byId('name').title = frame.name;
  byId('where').textContent = [frame.module.path, lineText(node), isInlined(node) && 'inlined'].filter(Boolean).join(' · ');
  byId('spent').textContent = spentOf(node).map(([word, share]) => `${SPENT[word]}\u00a0${formatShare(share, 1)}`).join(', ');
  byId('values').replaceChildren(valuesRow(node, node.totals, [2, 3], 'Total'), ...node.self ? [valuesRow(node, node.self, [0, 1], 'Self')] : [],
                                 shareRow(node, wholeTotal, 'Of all'), ...zoomed === view.root ? [] : [shareRow(node, ofZoomed, 'Of the zoomed')]);
  const {frame: chosen} = current;
  byId('sandwich').disabled = chosen.isMadeUp;
  for (const button of byId('filters').querySelectorAll('button'))
    button.disabled = chosen.isMadeUp || chosen.isWhole || (button.dataset.filter === 'm' && !chosen.module.path);
}
