/* A paged list of what happened, newest first: keeps its head fresh, and goes back as far as somebody asks. */

import { call } from './api.js';
import { arrange, h, setText } from './dom.js';

const PAGE = 20;

export class HistoryList {
  #items = null; // newest first; null before the first answer
  #next = null;
  #views = new Map(); // key → { element, update }
  #asking = null;
  #again = false;

  /**
   * The list at `path`, under the key `plural`. `view(item)` gives `{ element, update(item, newer)? }`; `newer` is the
   * item that followed.
   */
  constructor({ path, plural, label, empty, view }) {
    Object.assign(this, { path, plural, empty, view });
    this.list = h('ol', { class: 'history', 'aria-label': label });
    this.note = h('p', { class: 'empty' }, 'Loading…');
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.older = h('button', { type: 'button', class: 'small', hidden: true, onclick: () => this.#older() }, 'Older');
    this.element = h('div', {}, this.problem, this.note, this.list, this.older);
  }

  /** Asks for the newest page; once more if one is on its way, which may be older than what happened. */
  refresh() {
    if (this.#asking) this.#again = true;
    else this.#ask('', (items, next) => this.#head(items, next));
  }

  async #older() {
    while (this.#asking) await this.#asking;
    const before = this.#items.length;
    await this.#ask(`&before=${encodeURIComponent(this.#next)}`, (items, next) => {
      this.#items.push(...items);
      this.#next = next;
    });
    // The button has gone, and with it the focus: it goes on where the reading does.
    if (this.older.hidden) this.list.children[before]?.focus();
  }

  #ask(query, take) {
    this.#asking = this.#fetch(query, take).finally(() => {
      this.#asking = null;
      if (this.#again) this.refresh();
    });
    this.#again = false;
    return this.#asking;
  }

  async #fetch(query, take) {
    try {
      const answer = await call('GET', `${this.path}?limit=${PAGE}${query}`);
      take(answer[this.plural], answer.next);
      setText(this.problem, '');
      this.#show();
    } catch (problem) {
      setText(this.problem, problem.message);
      if (this.#items === null) setText(this.note, '');
    }
  }

  // What was loaded before stays below the newest page, if the two still meet; else the page stands alone.
  #head(items, next) {
    const oldest = items.length > 0 ? keyOf(items.at(-1)) : null;
    const meets = this.#items?.findLastIndex((item) => keyOf(item) === oldest) ?? -1;
    if (next === null || meets < 0) {
      this.#items = items;
      this.#next = next;
    } else {
      const rest = this.#items.slice(meets + 1);
      this.#items = [...items, ...rest];
      if (rest.length === 0) this.#next = next;
    }
  }

  #show() {
    const seen = new Map();
    const views = new Map();
    this.#items.forEach((item, index) => {
      // Two pings of the same moment may be alike in everything.
      const same = keyOf(item);
      const number = seen.get(same) ?? 0;
      seen.set(same, number + 1);
      const key = `${same} ${number}`;
      const view = this.#views.get(key) ?? this.view(item);
      view.update?.(item, this.#items[index - 1] ?? null);
      views.set(key, view);
    });
    this.#views = views;
    arrange(
      this.list,
      [...views.values()].map(({ element }) => element),
    );
    setText(this.note, this.#items.length > 0 ? '' : this.empty);
    this.older.hidden = this.#next === null;
  }
}

// Flips and pings have no id and never change; what has an id may change.
function keyOf(item) {
  return item.id ?? JSON.stringify(item);
}
