/* Builds DOM nodes. Nothing on these pages is ever made from a string of HTML. */

/**
 * `h('button', { class: 'primary', disabled: true, onclick: send }, 'Send')`
 * A function becomes a listener, `true` an empty attribute, `false` and null nothing; children are nodes, text or
 * lists of them.
 */
export function h(tag, props = {}, ...children) {
  return build(document.createElement(tag), props, children);
}

/** The same for the nodes of a picture. */
export function svg(tag, props = {}, ...children) {
  return build(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);
}

function build(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  appendAll(element, children.flat());
  return element;
}

/** Appends one by one: as arguments of one call, the paragraphs of a very long answer would overflow the stack. */
export function appendAll(element, children) {
  for (const child of children) if (child != null) element.append(child);
}

/** Writes text only where it changed: screen readers stay quiet, selections survive. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** A heading, button or region that only screen readers get to hear. */
export function hidden(tag, props, ...children) {
  return h(tag, { ...props, class: 'visually-hidden' }, ...children);
}

/** A random id of 128 bits that fits `[A-Za-z0-9_-]`; unlike `randomUUID` it also works on a plain-http site. */
export function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Puts `elements` into this order and takes all others out. Only what is out of place moves, and the focus stays. */
export function arrange(parent, elements) {
  const wanted = new Set(elements);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  if (elements.every((element, index) => parent.children[index] === element)) return;
  const focused = document.activeElement;
  // Chromium's `moveBefore` forgets which styles a changed attribute has made stale, so these are computed before it.
  void parent.offsetHeight;
  elements.forEach((element, index) => {
    const there = parent.children[index] ?? null;
    if (there !== element) move(parent, element, there);
  });
  if (document.activeElement !== focused && parent.contains(focused)) focused.focus({ preventScroll: true });
}

// Where a browser has `moveBefore`, it keeps what `insertBefore` resets: scrolled text, an open picker.
function move(parent, element, there) {
  if (parent.moveBefore && element.parentNode === parent) parent.moveBefore(element, there);
  else parent.insertBefore(element, there);
}

const memory = new Map();

/** `localStorage`; where the browser keeps it from us (a frame on another site), memory, which a reload forgets. */
export const storage = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return memory.get(key) ?? null;
    }
  },
  /** Null forgets the key. */
  set(key, value) {
    try {
      if (value === null) localStorage.removeItem(key);
      else localStorage.setItem(key, value);
    } catch {
      memory.set(key, value);
    }
  },
};

/** A button that copies what `text()` gives; where the clipboard is closed to us, `fallback` shows it instead. */
export function copyButton(label, text, fallback) {
  const button = h('button', { type: 'button', class: 'quiet small', onclick: copy }, label);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = 'Copied';
      setTimeout(() => (button.textContent = label), 1500);
    } catch {
      fallback?.();
    }
  }
  return button;
}

/** Text to be copied: a block of code and its button, named `label` for those who do not see what it stands beside. */
export function codeBlock(text, label) {
  const copy = copyButton('Copy', () => text);
  if (label) copy.setAttribute('aria-label', `Copy ${label}`);
  return h('div', { class: 'code' }, h('pre', { tabindex: 0 }, h('code', { dir: 'ltr' }, text)), copy);
}
