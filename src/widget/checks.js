/* The list of checks: asked for every two seconds, changed in place, so that focus and selection stay. */

import { all, call } from './api.js';
import { CheckDetail } from './check_detail.js';
import { CheckRow } from './check_row.js';
import { stateOf } from './check_words.js';
import { arrange, h, hidden, setText } from './dom.js';
import { everySecond } from './time.js';
import { Uptimes } from './uptimes.js';

const POLL_MS = 2000;
const PAGE = 100; // checks a request; a long list is asked for more rarely
const HIDDEN_POLL_MS = 30_000;
const URGENCY = { down: 0, late: 1 };
const OPEN = '#check='; // in the address, before the id of the check whose details are open

export class Checks {
  #rows = new Map(); // check id → its row
  #timer = null;
  #asking = null;
  #again = false;
  #loaded = false;
  #epoch = 0; // moves with every change made here: an answer that was asked for before is old
  #open = null; // the row whose details are shown
  #uptimes;

  /** `channels` are shown above the list, and named in the details. */
  constructor(channels) {
    this.channels = channels;
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
      h('header', {}, h('h2', { id: 'checks-title' }, 'Checks'), this.summary, channels.toggle),
      channels.element,
      this.problem,
      this.list,
      this.empty,
      this.news,
    );
    this.#uptimes = new Uptimes(this.element);
    everySecond(() => this.#rows.forEach((row) => row.tick()));
    document.addEventListener('visibilitychange', () => this.refresh());
    window.addEventListener('hashchange', () => this.#openNamed());
  }

  /** Whether the address names a check whose details are to be open. */
  static get isNamed() {
    return location.hash.startsWith(OPEN);
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
    const epoch = this.#epoch;
    try {
      const checks = await all('/api/checks', 'checks');
      if (epoch === this.#epoch) this.#show(checks);
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
    this.#arrange();
    this.empty.hidden = checks.length > 0;
    if (!this.#loaded) this.#openNamed();
    this.#loaded = true;
  }

  /** Takes in a check that a button of the page has changed. */
  #learn(check) {
    this.#epoch += 1;
    this.#put(check);
    this.#arrange();
    this.refresh();
  }

  /** Asks for one check alone. */
  async #askFor(id) {
    const epoch = this.#epoch;
    const check = await call('GET', `/api/checks/${encodeURIComponent(id)}`).catch(() => null);
    if (!check || epoch !== this.#epoch || !this.#rows.has(id)) return;
    const news = this.#put(check);
    if (!news) return;
    setText(this.news, news);
    this.#arrange();
  }

  /** Shows a check; gives the sentence that says what is new about it. */
  #put(check) {
    const row = this.#rows.get(check.id);
    if (!row) {
      this.#add(check);
      return `${check.name} was added`;
    }
    const before = stateOf(row.check);
    row.update(check);
    if (before === stateOf(check)) return null;
    row.flash();
    this.#uptimes.outdate(row);
    return `${check.name} is now ${stateOf(check)}`;
  }

  #add(check) {
    const row = new CheckRow(check, { toggle: () => this.#toggle(row), changed: (changed) => this.#learn(changed) });
    this.#rows.set(check.id, row);
    this.#uptimes.watch(row);
  }

  #remove(id, row) {
    if (row === this.#open) this.#toggle(row);
    if (row.element.contains(document.activeElement)) this.element.focus();
    row.element.remove();
    this.#rows.delete(id);
    this.#uptimes.unwatch(row);
  }

  /** Opens the details of a check, and closes those of another. */
  #toggle(row) {
    const before = this.#open;
    this.#open = null;
    before?.showDetail(null);
    if (before !== row) {
      this.#open = row;
      row.showDetail(
        new CheckDetail(row.check, {
          channels: this.channels,
          ask: () => this.#askFor(row.check.id),
          close: () => {
            this.#toggle(row);
            row.name.focus();
          },
        }),
      );
    }
    history.replaceState(null, '', this.#open ? `${OPEN}${row.check.id}` : location.pathname + location.search);
  }

  // The address may be a link to one check.
  #openNamed() {
    const row = Checks.isNamed ? this.#rows.get(location.hash.slice(OPEN.length)) : null;
    if (!row || row === this.#open) return;
    this.#toggle(row);
    row.name.focus({ preventScroll: true });
    row.element.scrollIntoView({ block: 'start' });
  }

  // What needs a person comes first, the rest by name.
  #arrange() {
    const urgency = (row) => URGENCY[stateOf(row.check)] ?? 2;
    const rows = [...this.#rows.values()].sort(
      (a, b) => urgency(a) - urgency(b) || a.check.name.localeCompare(b.check.name),
    );
    arrange(
      this.list,
      rows.map(({ element }) => element),
    );
    setText(this.summary, summary(rows.map(({ check }) => check)));
  }
}

function summary(checks) {
  const count = (state) => checks.filter((check) => stateOf(check) === state).length;
  const told = ['down', 'late', 'paused'].map((state) => [count(state), state]).filter(([number]) => number > 0);
  return [`${checks.length} in all`, ...told.map(([number, state]) => `${number} ${state}`)].join(' · ');
}
