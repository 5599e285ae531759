/* Model text to DOM nodes, while it grows. Never HTML, never a picture, never a script. */

import { parseBlocks } from './blocks.js';
import { appendAll, codeBlock, h } from './dom.js';
import { appendInline } from './inline.js';

const DEEPEST = 4; // lists in lists in quotes: beyond this, plain text

/** The text of one answer. `update` takes the whole text so far and rebuilds only what may still change. */
export class TextView {
  element = h('div', { class: 'text' });
  #length = 0;
  #settled = 0;
  #open = [];

  update(text) {
    if (text.length === this.#length) return;
    if (text.length < this.#length) this.#reset();
    this.#length = text.length;

    const blocks = parseBlocks(text, this.#settled);
    const nodes = blocks.map((block) => blockNode(block, 0));
    this.#open.forEach((node) => node.remove());
    appendAll(this.element, nodes);

    // A block is settled once the block after it has begun with a whole line.
    const last = blocks.findLastIndex(
      (block) => text.includes('\n', block.start) && text.indexOf('\n', block.start) < text.length,
    );
    if (last > 0) this.#settled = blocks[last].start;
    this.#open = last > 0 ? nodes.slice(last) : nodes;
  }

  #reset() {
    this.element.replaceChildren();
    this.#settled = 0;
    this.#open = [];
  }
}

/** A whole text at once. */
export function renderText(text) {
  const view = new TextView();
  view.update(text);
  return view.element;
}

function blockNode(block, depth) {
  switch (block.kind) {
    case 'heading':
      return inline(
        h('p', { class: 'heading', role: 'heading', 'aria-level': Math.min(6, block.level + 2) }),
        block.text,
      );
    case 'rule':
      return h('hr');
    case 'code':
      return codeBlock(block.text);
    case 'list':
      return h(
        block.ordered ? 'ol' : 'ul',
        { start: block.ordered && block.first !== 1 ? block.first : null },
        block.items.map((item) => h('li', {}, nested(item, depth))),
      );
    case 'quote':
      return h('blockquote', {}, nested(block.text, depth));
    case 'table':
      return tableNode(block);
    default:
      return inline(h('p'), block.text);
  }
}

function inline(element, text) {
  appendInline(element, text);
  return element;
}

function nested(text, depth) {
  if (depth >= DEEPEST) return [h('p', {}, text)];
  return parseBlocks(text).map((block) => blockNode(block, depth + 1));
}

function tableNode(block) {
  const rows = block.rows.map(cells);
  const headed = rows.length > 1 && rows[1].every((cell) => /^:?-+:?$/.test(cell));
  const row = (tag) => (line) =>
    h(
      'tr',
      {},
      line.map((cell) => inline(h(tag), cell)),
    );
  const body = headed ? rows.slice(2) : rows;
  const table = h('table', {}, headed ? h('thead', {}, row('th')(rows[0])) : null, h('tbody', {}, body.map(row('td'))));
  return h('div', { class: 'table', tabindex: 0 }, table);
}

function cells(line) {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim());
}
