/* One check in full: its settings, and tabs of its flips, its pings, who was told, and how to ping it. */

import { CheckFacts } from './check_facts.js';
import { h } from './dom.js';
import { flipView, notificationView, pingView } from './history_items.js';
import { HistoryList } from './history_list.js';
import { Snippets } from './snippets.js';
import { Tabs } from './tabs.js';
import { everySecond } from './time.js';

const REFRESH_EVERY_S = 5;

export class CheckDetail {
  #seconds = 0;

  /** `channels` are the account's; `ask()` asks for the check itself, `close()` runs at Escape. */
  constructor(check, { channels, ask, close }) {
    this.ask = ask;
    this.facts = new CheckFacts(channels);
    const path = `/api/checks/${encodeURIComponent(check.id)}`;
    this.parts = [
      {
        name: 'Changes',
        part: new HistoryList({
          path: `${path}/flips`,
          plural: 'flips',
          label: 'Changes of state',
          empty: 'It has not changed its state yet.',
          view: flipView,
        }),
      },
      {
        name: 'Pings',
        part: new HistoryList({
          path: `${path}/pings`,
          plural: 'pings',
          label: 'Pings',
          empty: 'No ping yet.',
          view: pingView,
        }),
      },
      {
        name: 'Alerts',
        part: new HistoryList({
          path: `${path}/notifications`,
          plural: 'notifications',
          label: 'Messages to channels',
          empty: 'Nobody has been told anything of this check yet.',
          view: notificationView,
        }),
      },
      { name: 'Set up', part: new Snippets(path) },
    ];
    this.tabs = new Tabs(
      `More about ${check.name}`,
      this.parts.map(({ name, part }) => ({ name, element: part.element })),
      () => this.#refresh(),
    );
    this.element = h(
      'section',
      {
        class: 'detail',
        'aria-label': `Details of ${check.name}`,
        onkeydown: (event) => event.key === 'Escape' && close(),
      },
      this.facts.element,
      this.tabs.element,
    );
    this.update(check);
    this.tabs.choose(0);
    this.stop = everySecond(() => this.#everySecond());
  }

  /** The check as it is now. What may have left a trace in its history is looked for at once. */
  update(check) {
    const before = this.check;
    this.check = check;
    this.facts.update(check);
    const moved = (key) => before && before[key] !== check[key];
    if (['status', 'last_ping_at', 'last_start_at', 'ping_url'].some(moved)) this.#refresh();
  }

  /** The times, each second. */
  tick() {
    this.facts.update(this.check);
  }

  remove() {
    this.stop();
    this.element.remove();
  }

  #refresh() {
    this.#seconds = 0;
    this.parts[this.tabs.index ?? 0].part.refresh(this.check);
  }

  // A list of a thousand checks is asked for rarely; the one that somebody looks at is not.
  #everySecond() {
    this.#seconds += 1;
    if (this.#seconds < REFRESH_EVERY_S || document.hidden || !this.element.isConnected) return;
    this.ask();
    this.#refresh();
  }
}
