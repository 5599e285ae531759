/* Finds the blocks of model text: paragraphs, headings, lists, quotes, tables, code. Reads each line once. */

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const HEADING = /^ {0,3}(#{1,6})[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_LINE = /^ {0,3}\|/;
const RULE_MAX_LENGTH = 100;

/**
 * The blocks of `text` from offset `from`, which must be 0 or the start of a block. Each has `kind`, `start`, `end`
 * (the offset after it), and what its kind needs. A block depends on nothing before it, and on nothing after the
 * line that ends it, so all but the last stay as they are when text is added.
 */
export function parseBlocks(text, from = 0) {
  const lines = new Lines(text, from);
  const blocks = [];
  while (lines.skipBlank()) {
    const start = lines.at;
    const block = readBlock(lines);
    blocks.push({ ...block, start, end: lines.at });
  }
  return blocks;
}

class Lines {
  constructor(text, at) {
    this.text = text;
    this.at = at;
  }

  get done() {
    return this.at >= this.text.length;
  }

  peek() {
    const end = this.text.indexOf('\n', this.at);
    return this.text.slice(this.at, end === -1 ? this.text.length : end);
  }

  take() {
    const line = this.peek();
    this.at = Math.min(this.at + line.length + 1, this.text.length);
    return line;
  }

  /** Moves over blank lines; false at the end of the text. */
  skipBlank() {
    while (!this.done && isBlank(this.peek())) this.take();
    return !this.done;
  }
}

function readBlock(lines) {
  const line = lines.peek();
  if (FENCE.test(line)) return readCode(lines);
  if (isRule(line)) {
    lines.take();
    return { kind: 'rule' };
  }
  const heading = HEADING.exec(line);
  if (heading) {
    lines.take();
    return { kind: 'heading', level: heading[1].length, text: heading[2].replace(/ #+$/, '') };
  }
  if (QUOTE.test(line))
    return {
      kind: 'quote',
      text: takeWhile(lines, (next) => QUOTE.test(next))
        .map((next) => QUOTE.exec(next)[1])
        .join('\n'),
    };
  if (TABLE_LINE.test(line)) return { kind: 'table', rows: takeWhile(lines, (next) => TABLE_LINE.test(next)) };
  if (ITEM.test(line)) return readList(lines);
  const first = lines.take();
  const rest = takeWhile(lines, (next) => !isBlank(next) && !interrupts(next));
  return { kind: 'paragraph', text: [first, ...rest].join('\n') };
}

function readCode(lines) {
  const [, mark, info] = FENCE.exec(lines.take());
  const body = [];
  while (!lines.done) {
    const line = lines.take();
    const end = FENCE.exec(line);
    if (end && end[1].startsWith(mark) && isBlank(end[2])) break;
    body.push(line);
  }
  return { kind: 'code', language: info.trim(), text: body.join('\n') };
}

// An item is a marker and what follows it, indented lines included; the items' own text is parsed as blocks again.
function readList(lines) {
  const [, indent, marker] = ITEM.exec(lines.peek());
  const ordered = /\d/.test(marker);
  const items = [];
  let inside = indent.length + 2;
  while (!lines.done) {
    const next = new Lines(lines.text, lines.at);
    if (!next.skipBlank()) break;
    const gap = next.at > lines.at;
    const line = next.take();
    const item = isRule(line) ? null : ITEM.exec(line);
    if (indentOf(line) >= inside && items.length > 0) {
      items.at(-1).push(...(gap ? [''] : []), line.slice(inside));
    } else if (item && /\d/.test(item[2]) === ordered) {
      inside = item[1].length + 2;
      items.push([item[3] ?? '']);
    } else if (!gap && !interrupts(line)) {
      items.at(-1).push(line.trimStart());
    } else {
      break;
    }
    lines.at = next.at;
  }
  return {
    kind: 'list',
    ordered,
    first: ordered ? parseInt(marker, 10) : 1,
    items: items.map((item) => item.join('\n')),
  };
}

function takeWhile(lines, holds) {
  const taken = [];
  while (!lines.done && holds(lines.peek())) taken.push(lines.take());
  return taken;
}

// As in CommonMark, only "1." begins an ordered list inside a paragraph: "in\n2025. Then" is one sentence.
function interrupts(line) {
  const item = ITEM.exec(line);
  const begins = item && item[3] && (!/\d/.test(item[2]) || parseInt(item[2], 10) === 1);
  return (
    Boolean(begins) ||
    FENCE.test(line) ||
    HEADING.test(line) ||
    QUOTE.test(line) ||
    TABLE_LINE.test(line) ||
    isRule(line)
  );
}

function isRule(line) {
  return line.length <= RULE_MAX_LENGTH && RULE.test(line);
}

function isBlank(line) {
  return line.trim() === '';
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}
