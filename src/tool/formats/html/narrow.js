/*
 * Frames that are too narrow for a finger or a word are no elements: there may be thousands of them, which would cost the browser
 * most of its time. They are painted as one path for each colour. Whoever points at one makes it an element, and so does who goes there by
 * keys.
 */

const narrowPicture = svgElement('svg', {class: 'narrow', preserveAspectRatio: 'none', 'aria-hidden': 'true'});
const narrowPaths = new Map(); /* how they look: a class and a style, and the path of it */
let narrowFrames = [];         /* that are painted */
let narrowPx = 0;              /* how wide the graph is */
let pointed = null;            /* the one that is an element because somebody points at it */

/* The part of a frame's side that it has, from 0 to 1: what is zoomed to has all of it. */
function partOf(node) {
  const {x0, x1} = topOf(view.sideOf(node));
  return {left: (node.x0 - x0) / (x1 - x0), width: (node.x1 - node.x0) / (x1 - x0)};
}

/* A rectangle, with a gap to the next one as elements have it. */
function narrowOutline(node, row) {
  const {left, width} = partOf(node), widthPx = width * narrowPx;
  const shown = (widthPx - Math.min(1, widthPx / 5)).toFixed(2);
  return `M${(left * narrowPx).toFixed(2)} ${row * ROW_PX}h${shown}v${ROW_PX - 1}h-${shown}z`;
}

/* By how they look. rows: of each frame. */
function narrowOutlines(rows, firstRow) {
  const outlines = new Map();
  narrowFrames.forEach((node, i) => {
    const look = `${classOf(node)};${colourOf(node, true)}`, known = outlines.get(look), outline = narrowOutline(node, rows[i] - firstRow);
    if (known)
      known.push(outline);
    else
      outlines.set(look, [outline]);
  });
  return Array.from(outlines, ([look, all]) => [look, all.join('')]);
}

function makeNarrowPath(look) {
  const [name, style] = look.split(/;(.*)/s), path = svgElement('path', {class: name});
  path.style.cssText = style;
  narrowPicture.append(path);
  return path;
}

/* What is set again costs the browser as much as what is new. */
function paintNarrow() {
  const rows = narrowFrames.map(rowOf), first = rows.reduce((a, b) => Math.min(a, b), Infinity), last = rows.reduce((a, b) => Math.max(a, b), -1);
  const outlines = new Map(narrowOutlines(rows, first));
  for (const [look, {path}] of narrowPaths) {
    if (!outlines.has(look)) {
      path.remove();
      narrowPaths.delete(look);
    }
  }
  for (const [look, outline] of outlines) {
    if (!narrowPaths.has(look))
      narrowPaths.set(look, {path: makeNarrowPath(look), outline: ''});
    const known = narrowPaths.get(look);
    if (known.outline !== outline)
      known.path.setAttribute('d', known.outline = outline);
  }
  const height = outlines.size > 0 ? (last - first + 1) * ROW_PX : 0;
  setNarrowPlace(`0 0 ${narrowPx} ${height}`, `top:${height > 0 ? first * ROW_PX : 0}px;height:${height}px`);
}

function setNarrowPlace(box, style) {
  if (narrowPicture.getAttribute('viewBox') !== box)
    narrowPicture.setAttribute('viewBox', box);
  if (narrowPicture.style.cssText !== style)
    narrowPicture.style.cssText = style;
}

function drawNarrow(frames, graphPx) {
  narrowFrames = frames;
  narrowPx = graphPx;
  paintNarrow();
}

/* ---- pointing at them ---- */

/* The one at a place on the screen. */
function narrowAt({clientX, clientY}) {
  const {left, top} = tree.getBoundingClientRect();
  const row = Math.floor((clientY - top) / ROW_PX), place = (clientX - left) / narrowPx;
  return narrowFrames.find((node) => {
    const part = partOf(node);
    return rowOf(node) === row && place >= part.left && place < part.left + part.width;
  });
}

function pointAt(event) {
  const node = event.target === tree ? narrowAt(event) : null;
  if (!node || node === pointed)
    return;
  forgetPointed();
  pointed = node;
  if (!elements.has(node)) {
    elements.set(node, makeElement(node));
    paint(elements.get(node), node, narrowPx);
    tree.append(elements.get(node));
  }
  showDetail(node);
}

/* It is not wanted any more, unless the keyboard is there. */
function forgetPointed() {
  if (pointed && pointed !== current) {
    elements.get(pointed)?.remove();
    elements.delete(pointed);
  }
  pointed = null;
}
