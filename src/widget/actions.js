/* Every action on the page, however many cards show it: one true state, decided by the server. */

import { ActionCard } from './action_card.js';
import { call } from './api.js';
import { everySecond } from './time.js';

const REFRESH_EVERY_S = 3;

export class Actions {
  #known = new Map(); // action id → { action, cards, busy, problem, unknown }
  #seconds = 0;

  /** `onChange` runs whenever an action turns out to be decided: the checks may be others now. */
  constructor(onChange) {
    this.onChange = onChange;
    everySecond(() => this.#everySecond());
    document.addEventListener('visibilitychange', () => this.refresh());
    window.addEventListener('focus', () => this.refresh());
  }

  /** A new card for an action. Where an earlier card shows its details and it is decided, a brief one. */
  card(action) {
    this.note(action);
    const entry = this.#known.get(action.id);
    for (const card of entry.cards) if (!card.element.isConnected) entry.cards.delete(card);
    const brief = entry.cards.size > 0 && entry.action.status !== 'PENDING';
    const card = new ActionCard(entry.action, (how) => this.#decide(action.id, how), brief);
    entry.cards.add(card);
    this.#show();
    return card.element;
  }

  /** Learns an action's state from anywhere: stream, history, list, answer. */
  note(action) {
    const entry = this.#known.get(action.id);
    if (!entry) {
      this.#known.set(action.id, { action, cards: new Set(), busy: null, problem: null, unknown: false });
      if (action.status !== 'PENDING') this.onChange();
      return;
    }
    // A decided action never opens again: an answer that was overtaken says nothing new.
    if (entry.action.status !== 'PENDING' && action.status === 'PENDING') return;
    const changed = entry.action.status !== action.status;
    entry.action = action;
    if (changed || entry.unknown) entry.problem = null;
    entry.unknown = false;
    this.#show();
    if (changed) this.onChange();
  }

  /** Forgets the cards of a conversation that is no longer shown. */
  clear() {
    this.#known.clear();
  }

  /** One list call tells of all open actions; only those missing from it are asked for one by one. */
  async refresh() {
    const open = this.#pending().filter(({ cards }) => [...cards].some((card) => card.element.isConnected));
    if (open.length === 0 || document.hidden) return;
    try {
      const { actions } = await call('GET', '/api/actions?status=pending&limit=100');
      const listed = new Set(actions.map((action) => action.id));
      actions.filter((action) => this.#known.has(action.id)).forEach((action) => this.note(action));
      for (const { action } of open.filter((entry) => !listed.has(entry.action.id))) await this.#fetch(action.id);
    } catch {
      // The next round asks again; a confirm that is refused says so on its card.
    }
  }

  async #decide(id, how) {
    const entry = this.#known.get(id);
    if (entry.busy) return;
    entry.busy = how;
    entry.problem = null;
    this.#show();
    try {
      // The digest says what the person has seen; the server runs that or nothing.
      const { action } = await call('POST', `/api/actions/${encodeURIComponent(id)}/${how}`, {
        digest: entry.action.digest,
      });
      this.note(action);
    } catch (problem) {
      await this.#explain(id, entry, problem);
    } finally {
      entry.busy = null;
      this.#show();
    }
  }

  // A refusal or a lost answer tells little; the row tells what really happened.
  async #explain(id, entry, problem) {
    try {
      await this.#fetch(id);
      if (entry.action.status === 'PENDING') entry.problem = problem.message;
    } catch {
      entry.problem = `${problem.message} It is not known yet whether this was done.`;
      entry.unknown = true;
    }
  }

  async #fetch(id) {
    this.note(await call('GET', `/api/actions/${encodeURIComponent(id)}`));
  }

  #pending() {
    return [...this.#known.values()].filter((entry) => entry.action.status === 'PENDING');
  }

  #show() {
    const onlyOne = this.#pending().length === 1;
    for (const { action, cards, busy, problem } of this.#known.values()) {
      for (const card of cards) card.update(action, { busy, problem, onlyOne });
    }
  }

  #everySecond() {
    for (const { cards } of this.#known.values()) for (const card of cards) card.tick();
    this.#seconds = (this.#seconds + 1) % REFRESH_EVERY_S;
    if (this.#seconds === 0) this.refresh();
  }
}
