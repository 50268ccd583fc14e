/* Copies what the chosen frame says, for people to paste elsewhere. */

/* The way of calls to a frame, one function a line, the outermost first, as folded stacks are. Of callers it is the way down. */
function stackText(node) {
  const frames = node.ancestors().map(({frame}) => frame).filter(({isMadeUp}) => !isMadeUp);
  return (node.isCaller ? frames : frames.reverse()).map(({name}) => name).join('\n');
}

const COPIES = {
  name: () => current.frame.name,
  stack: () => stackText(current),
  link: () => location.href,
};

/* A page of a file may have no clipboard. Then the browser's old way of copying a selection does it. */
function copyBySelection(text) {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}

async function copy(what) {
  const text = COPIES[what]();
  const focused = document.activeElement;
  const isDone = await navigator.clipboard?.writeText(text).then(() => true, () => false) || copyBySelection(text);
  focused.focus({preventScroll: true});
  byId('said').textContent = isDone ? `Copied the ${what}.` : 'The browser does not let this page copy.';
}
