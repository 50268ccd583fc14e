/* Moving in the graph. */

function focusCurrent() {
  const element = elements.get(current);
  element.focus({preventScroll: true});
  element.scrollIntoView({block: 'nearest'}); /* the style's scroll margin keeps it clear of the details */
}

function moveTo(node) {
  current = node;
  scrollTo(node, false);
  draw();
  focusCurrent();
  showDetail(node);
}

const sibling = (node, step) => node.siblings[node.place + step] ?? null;

function zoomTo(node, isFocused) {
  state.zoom = node.id;
  current = node;
  writeHash(true);
  update();
  if (isFocused)
    focusCurrent();
}

/* A frame deeper on a side: towards the zoomed one if that is deeper, else to the widest. */
function deeper(node, side) {
  const top = topOf(side);
  return node.depth < top.depth ? top.ancestors()[top.depth - node.depth - 1] : widestChild(node === view.root ? side.root : node);
}

/* A row further up (-1) or down (1) on the screen. */
function verticalTarget(step) {
  const sides = current === view.root ? view.sides : [view.sideOf(current)];
  const side = sides.find((each) => signOf(each) === step);
  return side ? deeper(current, side) : current.parent;
}

function endOf(node) {
  let end = node;
  while (widestChild(end))
    end = widestChild(end);
  return end;
}

function keyTarget(key) {
  switch (key) {
  case 'ArrowUp': return verticalTarget(-1);
  case 'ArrowDown': return verticalTarget(1);
  case 'ArrowLeft': return sibling(current, -1);
  case 'ArrowRight': return sibling(current, 1);
  case 'Home': return zoomed;
  case 'End': return endOf(zoomed);
  default: return null;
  }
}

/* Whether a node can be drawn: it is in the zoomed part, or on the way to it, or on the other side. */
const isOnView = (node) => node.isInside(topOf(view.sideOf(node))) || zoomed.isInside(node) || node === view.root ||
  (view.callers && node.isCaller && topOf(view.sideOf(node)) === view.callers);

function moveByKey(key) {
  const target = keyTarget(key);
  if (target && isOnView(target))
    moveTo(target);
}

function onTreeKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey)
    return;
  const actions = {
    Enter: () => zoomTo(current, true),
    ' ': () => zoomTo(current, true),
    Backspace: () => zoomTo(zoomed.parent ?? zoomed, true),
    n: () => moveToMatch(1),
    p: () => moveToMatch(-1),
    i: () => setView(state.view === 'callers' ? 'callees' : 'callers'),
    s: () => setView('sandwich'),
    h: () => filterByKey('h'),
    f: () => filterByKey('f'),
    r: () => filterByKey('r'),
    m: () => filterByKey('m'),
    u: () => filterByKey(''),
    y: () => copy('name'),
    t: () => strips.length > 0 && toggleMaps(),
  };
  const isMove = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key);
  if (!isMove && !actions[event.key])
    return;
  event.preventDefault();
  if (isMove)
    moveByKey(event.key);
  else
    actions[event.key]();
}

function onPageKey(event) {
  const isTyping = event.target instanceof HTMLInputElement && !['radio', 'checkbox'].includes(event.target.type);
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    byId('search').focus();
    byId('search').select();
  } else if (event.key === 'Escape' && !(event.target instanceof HTMLSelectElement)) {
    const isAllShown = zoomed === view.root && !state.search, stripOfFocus = strips.find((strip) => strip.section.contains(document.activeElement));
    if (isTyping && state.search)
      setSearch('');
    else if (!(stripOfFocus ? stripOfFocus.clearRange() : isAllShown && clearRanges()))
      zoomTo(view.root, tree.contains(document.activeElement));
  }
}

/* Without a letter: takes the last filter back. */
function filterByKey(letter) {
  if (letter)
    addFilter(letter);
  else
    setFilters(filterList().slice(0, -1));
  moveTo(current);
}

/* A sandwich is of the function of the frame that the keyboard is at. */
function setView(kind) {
  const {frame} = current;
  const isSandwich = kind === 'sandwich';
  if (isSandwich && frame.isMadeUp) {
    byId('view').value = state.view;
    byId('said').textContent = 'Choose a function first: click its frame.';
    return;
  }
  Object.assign(state, {view: kind, of: isSandwich ? String(frame.number) : '', zoom: '0'});
  writeHash(true);
  const hadFocus = tree.contains(document.activeElement);
  update();
  if (hadFocus)
    moveTo(view.root);
}
