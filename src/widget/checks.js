/* The list of checks: asked for every two seconds, changed in place, so that focus and selection stay. */

import { all } from './api.js';
import { CheckRow, stateOf } from './check_row.js';
import { h, hidden, setText } from './dom.js';
import { everySecond } from './time.js';

const POLL_MS = 2000;
const PAGE = 100; // checks a request; a long list is asked for more rarely
const HIDDEN_POLL_MS = 30_000;
const URGENCY = { down: 0, late: 1 };

export class Checks {
  #rows = new Map(); // check id → its row
  #timer = null;
  #asking = null;
  #again = false;
  #loaded = false;

  constructor() {
    this.list = h('ul', { class: 'check-list', 'aria-labelledby': 'checks-title' });
    this.summary = h('p', { class: 'check-summary' }, 'Loading…');
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.empty = h(
      'p',
      { class: 'empty', hidden: true },
      'No checks yet. Tell the assistant what should run, for example ',
      h('q', {}, 'create "nightly-backup" every 24 hours'),
      '.',
    );
    this.news = hidden('p', { role: 'status' });
    this.element = h(
      'section',
      { class: 'checks', id: 'checks', 'aria-labelledby': 'checks-title', tabindex: -1 },
      h('header', {}, h('h2', { id: 'checks-title' }, 'Checks'), this.summary),
      this.problem,
      this.list,
      this.empty,
      this.news,
    );
    everySecond(() => this.#rows.forEach((row) => row.tick()));
    document.addEventListener('visibilitychange', () => this.refresh());
  }

  /** Names of the checks, for suggestions. */
  get names() {
    return [...this.#rows.values()].map((row) => row.check.name);
  }

  /** Asks now. While an answer is on its way, asks once more after it: that answer may be older than the change. */
  refresh() {
    clearTimeout(this.#timer);
    if (!this.element.isConnected) return Promise.resolve(); // The session has ended.
    if (this.#asking) {
      this.#again = true;
      return this.#asking;
    }
    this.#asking = this.#ask().finally(() => {
      this.#asking = null;
      const wait = document.hidden ? HIDDEN_POLL_MS : POLL_MS * Math.max(1, Math.ceil(this.#rows.size / PAGE));
      this.#timer = setTimeout(() => this.refresh(), this.#again ? 0 : wait);
      this.#again = false;
    });
    return this.#asking;
  }

  async #ask() {
    try {
      this.#show(await all('/api/checks', 'checks'));
      setText(this.problem, '');
    } catch (problem) {
      setText(this.problem, `${problem.message} What is shown may be old.`);
    }
  }

  #show(checks) {
    const known = new Set(checks.map((check) => check.id));
    for (const [id, row] of this.#rows) if (!known.has(id)) this.#remove(id, row);
    const news = checks.map((check) => this.#put(check)).filter(Boolean);
    if (this.#loaded && news.length > 0) setText(this.news, news.join('. '));
    this.#loaded = true;
    this.#order();
    this.empty.hidden = checks.length > 0;
    setText(this.summary, summary(checks));
  }

  /** Shows a check; gives the sentence that says what is new about it. */
  #put(check) {
    const row = this.#rows.get(check.id);
    if (!row) {
      this.#rows.set(check.id, new CheckRow(check));
      return `${check.name} was added`;
    }
    const before = stateOf(row.check);
    row.update(check);
    if (before === stateOf(check)) return null;
    row.flash();
    return `${check.name} is now ${stateOf(check)}`;
  }

  #remove(id, row) {
    row.element.remove();
    this.#rows.delete(id);
  }

  // What needs a person comes first, the rest by name. Only rows out of place move, and a moved row keeps the focus.
  #order() {
    const urgency = (row) => URGENCY[stateOf(row.check)] ?? 2;
    const rows = [...this.#rows.values()].sort(
      (a, b) => urgency(a) - urgency(b) || a.check.name.localeCompare(b.check.name),
    );
    const focused = document.activeElement;
    rows.forEach((row, index) => {
      if (this.list.children[index] !== row.element)
        this.list.insertBefore(row.element, this.list.children[index] ?? null);
    });
    if (document.activeElement !== focused && this.list.contains(focused)) focused.focus();
  }
}

function summary(checks) {
  const count = (state) => checks.filter((check) => stateOf(check) === state).length;
  const told = ['down', 'late', 'paused'].map((state) => [count(state), state]).filter(([number]) => number > 0);
  return [`${checks.length} in all`, ...told.map(([number, state]) => `${number} ${state}`)].join(' · ');
}
