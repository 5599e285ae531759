/* Asks for the bars of those checks that are in sight, a few at a time: a thousand checks are no thousand requests. */

import { call } from './api.js';
import { DAYS } from './bars.js';
import { everySecond, serverNow } from './time.js';

const AT_ONCE = 4;
const REST_MS = 150; // of each of them, so that scrolling through a long list stays far below the flood limit
const FRESH_MS = 5 * 60_000;
const RETRY_MS = 30_000;
const DAY_MS = 86_400_000;

export class Uptimes {
  #asked = 0;
  #visible = new Set();
  #rows = new Map(); // element → its row
  #due = new WeakMap(); // row → when its bars are to be asked for again; at once if it is not in here
  #sight;

  /** `scroller` is the element in which the rows scroll. */
  constructor(scroller) {
    this.#sight = new IntersectionObserver((entries) => this.#look(entries), { root: scroller, rootMargin: '120px' });
    everySecond(() => this.#next());
  }

  /** A row that is new in the list. It has `check` and `bars`. */
  watch(row) {
    this.#rows.set(row.element, row);
    this.#sight.observe(row.element);
  }

  unwatch(row) {
    this.#sight.unobserve(row.element);
    this.#rows.delete(row.element);
    this.#visible.delete(row);
  }

  /** Something happened to the check: its bars are asked for anew. */
  outdate(row) {
    this.#due.delete(row);
    this.#next();
  }

  #look(entries) {
    for (const { target, isIntersecting } of entries) {
      const row = this.#rows.get(target);
      if (row && isIntersecting) this.#visible.add(row);
      else this.#visible.delete(row);
    }
    this.#next();
  }

  #next() {
    if (document.hidden) return;
    for (const row of this.#visible) {
      if (this.#asked >= AT_ONCE) return;
      if ((this.#due.get(row) ?? 0) <= Date.now()) this.#ask(row);
    }
  }

  async #ask(row) {
    this.#asked += 1;
    this.#due.set(row, Infinity);
    const wait = await this.#fetch(row);
    // Unless it was outdated in the meantime.
    if (this.#due.has(row)) this.#due.set(row, Date.now() + wait);
    setTimeout(() => {
      this.#asked -= 1;
      this.#next();
    }, REST_MS);
  }

  /** Gives how long what came of it is good for, in milliseconds. */
  async #fetch(row) {
    const from = new Date((Math.floor(serverNow() / DAY_MS) - DAYS + 1) * DAY_MS).toISOString();
    try {
      row.bars.update(await call('GET', `/api/checks/${encodeURIComponent(row.check.id)}/uptime?from=${from}`));
      return FRESH_MS;
    } catch (problem) {
      return (problem.retryAfterSeconds ?? 0) * 1000 || RETRY_MS;
    }
  }
}
