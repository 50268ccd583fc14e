/* Moving in the graph. */

function moveTo(node) {
  current = node;
  scrollTo(node, false);
  draw();
  const element = elements.get(node);
  element.focus({preventScroll: true});
  element.scrollIntoView({block: 'nearest'}); /* the style's scroll margin keeps it clear of the details */
  showDetail(node);
}

const sibling = (node, step) => node.parent?.children[node.place + step] ?? null;

function zoomTo(node, isFocused) {
  state.zoom = node.id;
  current = node;
  writeHash(true);
  update();
  if (isFocused)
    moveTo(node);
}

/* Where the key to a callee leads: above the zoomed frame towards it, elsewhere to the widest callee. */
function calleeOf(node) {
  return node.depth < zoomed.depth ? zoomed.ancestors()[zoomed.depth - node.depth - 1] : widestChild(node);
}

function endOf(node) {
  let end = node;
  while (widestChild(end))
    end = widestChild(end);
  return end;
}

/* Where a key leads. Up and down mean rows of the screen: callees are below in an icicle, above in a flame. */
function keyTarget(key) {
  const isIcicle = state.look === 'icicle';
  switch (key) {
  case 'ArrowUp': return isIcicle ? current.parent : calleeOf(current);
  case 'ArrowDown': return isIcicle ? calleeOf(current) : current.parent;
  case 'ArrowLeft': return sibling(current, -1);
  case 'ArrowRight': return sibling(current, 1);
  case 'Home': return zoomed;
  case 'End': return endOf(zoomed);
  default: return null;
  }
}

/* Whether a node can be drawn: it is in the zoomed part, or on the way to it. */
const isOnView = (node) => node.isInside(zoomed) || zoomed.isInside(node);

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
    if (isTyping && state.search)
      setSearch('');
    else
      zoomTo(view.root, tree.contains(document.activeElement));
  }
}
