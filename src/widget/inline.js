/* Writes one run of model text into an element: code, bold, emphasis, links; everything else stays text. */

import { h } from './dom.js';

const BARE_LINK = /https?:\/\/[^\s<>"'`|]+|mailto:[^\s<>"'`|]+/iy;
const LINK_TARGET = /\(\s*<?((?:[^\s()<>]|\([^\s()<>]*\)){1,2048})>?(?:\s+"[^"\n]{0,200}")?\s*\)/y;
const LINK_LABEL_MAX = 300;
const TRAILING = '.,;:!?)]}*_~\'"';
const WORD = /[\p{L}\p{N}]/u;
const PUNCTUATION = /[!-/:-@[-`{-~]/;

/** Appends `text` to `parent`. `inside` holds the marks that are open, so that nesting has an end. */
export function appendInline(parent, text, inside = []) {
  const missing = new Set(); // closing marks that the rest does not have: looked for once, not at every opening
  let plain = '';
  let at = 0;

  const flush = () => {
    if (plain !== '') parent.append(plain);
    plain = '';
  };
  const put = (node, end) => {
    flush();
    parent.append(node);
    at = end;
  };
  const closing = (mark, from) => {
    if (missing.has(mark)) return -1;
    const found = text.indexOf(mark, from);
    if (found === -1) missing.add(mark);
    return found;
  };

  while (at < text.length) {
    const char = text[at];
    if (char === '\\' && PUNCTUATION.test(text[at + 1] ?? '')) {
      plain += text[at + 1];
      at += 2;
    } else if (char === '\n') {
      plain = plain.trimEnd();
      put(h('br'), at + 1);
    } else if (char === '`') {
      const mark = runOf(text, at);
      const end = findRun(text, mark, at + mark.length, missing);
      if (end === -1) {
        plain += mark;
        at += mark.length;
      } else {
        const code = text.slice(at + mark.length, end).replaceAll('\n', ' ');
        put(h('code', {}, /^ .*\S.* $/.test(code) ? code.slice(1, -1) : code), end + mark.length);
      }
    } else if (char === '*' || char === '_') {
      const mark = text[at + 1] === char ? char + char : char;
      const end = inside.includes(mark) ? -1 : closing(mark, at + mark.length + 1);
      if (end !== -1 && isSpan(text, at, end, mark)) {
        const span = h(mark.length === 2 ? 'strong' : 'em');
        appendInline(span, text.slice(at + mark.length, end), [...inside, mark]);
        put(span, end + mark.length);
      } else {
        plain += mark;
        at += mark.length;
      }
    } else if (char === '[' || (char === '!' && text[at + 1] === '[')) {
      // A picture is a link as well: nothing is ever loaded from elsewhere.
      const link = labelledLink(text, char === '!' ? at + 1 : at);
      if (link) put(link.node, link.end);
      else {
        plain += char;
        at += 1;
      }
    } else if ((char === 'h' || char === 'H' || char === 'm' || char === 'M') && !WORD.test(text[at - 1] ?? '')) {
      const link = bareLink(text, at);
      if (link) put(link.node, link.end);
      else {
        plain += char;
        at += 1;
      }
    } else {
      plain += char;
      at += 1;
    }
  }
  flush();
}

function runOf(text, at) {
  let end = at;
  while (text[end] === text[at]) end += 1;
  return text.slice(at, end);
}

// A code span is closed by a run of exactly as many backticks.
function findRun(text, mark, from, missing) {
  if (missing.has(mark)) return -1;
  for (let at = text.indexOf('`', from); at !== -1;) {
    const run = runOf(text, at);
    if (run === mark) return at;
    at = text.indexOf('`', at + run.length);
  }
  missing.add(mark);
  return -1;
}

// Marks hug their words; inside a word, underscores are part of a name such as nightly_backup_2.
function isSpan(text, start, end, mark) {
  const first = text[start + mark.length];
  const last = text[end - 1];
  if (/\s/.test(first) || /\s/.test(last) || end + mark.length > text.length) return false;
  if (mark[0] !== '_') return true;
  return !WORD.test(text[start - 1] ?? '') && !WORD.test(text[end + mark.length] ?? '');
}

function labelledLink(text, at) {
  let end = at + 1;
  const limit = Math.min(text.length, at + LINK_LABEL_MAX);
  while (end < limit && text[end] !== ']' && text[end] !== '[' && text[end] !== '\n') end += 1;
  if (text[end] !== ']') return null;
  LINK_TARGET.lastIndex = end + 1;
  const target = LINK_TARGET.exec(text);
  const node = target && linkNode(text.slice(at + 1, end), target[1]);
  return node && { node, end: LINK_TARGET.lastIndex };
}

function bareLink(text, at) {
  BARE_LINK.lastIndex = at;
  const match = BARE_LINK.exec(text);
  if (!match) return null;
  let length = match[0].length;
  while (TRAILING.includes(match[0][length - 1])) length -= 1;
  const address = match[0].slice(0, length);
  // What is no address that we would open stays text as a whole: its pieces are not tried again.
  return { node: linkNode(address, address) ?? address, end: at + length };
}

/** A link whose true destination can be read, or null if the address is not one that we would open. */
function linkNode(label, address) {
  const url = /^(https?:\/\/|mailto:)/i.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (!url || url.username || url.password) return null;
  const mail = url.protocol === 'mailto:';
  const href = mail ? `mailto:${url.pathname}` : url.href;
  const link = h('a', { href, target: '_blank', rel: 'noopener noreferrer', class: 'outside' }, label || address);
  const told = mail ? label === url.pathname || label === href : label === address && address.startsWith(url.origin);
  return told ? link : h('span', {}, link, h('bdi', { class: 'host' }, ` (${mail ? url.pathname : url.host})`));
}
