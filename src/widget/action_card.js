/* The card of one action: what would change, and the two buttons. It shows the stored preview and nothing else. */

import { h, setText } from './dom.js';
import { absolute, clock, secondsUntil } from './time.js';

const STATES = {
  PENDING: 'Waiting for you',
  CLAIMED: 'Being done',
  EXECUTED: 'Done',
  FAILED: 'Not done',
  REJECTED: 'Cancelled',
  EXPIRED: 'Expired',
  SUPERSEDED: 'Replaced',
};

const SENTENCES = {
  REJECTED: 'You cancelled this. Nothing has changed.',
  EXPIRED: 'Nobody confirmed this in time. Nothing has changed; ask again if you still want it.',
  SUPERSEDED: 'A newer proposal for the same check took its place. Nothing has changed.',
};

export class ActionCard {
  /** `decide('confirm' | 'reject')` runs when a button is pressed; `brief` leaves the details to an earlier card. */
  constructor(action, decide, brief) {
    this.element = h('section', {
      class: brief ? 'card brief' : 'card',
      'aria-label': `Action ${action.number}: ${action.title}`,
    });
    this.state = h('strong', { class: 'state' });
    this.left = h('span', { class: 'left' });
    this.result = h('p', { class: 'result', role: 'status', tabindex: -1 });
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.confirm = h(
      'button',
      { type: 'button', class: action.destructive ? 'danger' : 'primary', onclick: () => decide('confirm') },
      'Confirm',
    );
    this.cancel = h('button', { type: 'button', onclick: () => decide('reject') }, 'Cancel');
    this.hint = h('span', { class: 'hint' });
    this.buttons = h('div', { class: 'buttons' }, this.confirm, this.cancel, this.hint);
    this.element.append(
      h('header', {}, h('span', { class: 'number' }, `Action ${action.number}`), this.state, this.left),
      h('h3', { dir: 'auto' }, action.title),
      ...(brief ? [] : details(action)),
      this.result,
      this.problem,
      this.buttons,
    );
  }

  /** `onlyOne`: no other action is open, so that the bare word is enough. `busy`: a decision is on its way. */
  update(action, { busy, problem, onlyOne }) {
    const pending = action.status === 'PENDING';
    if (busy && this.buttons.contains(document.activeElement)) this.pressed = document.activeElement;
    this.action = action;
    this.element.dataset.status = action.status;
    this.element.classList.toggle('destructive', Boolean(action.destructive));
    this.element.setAttribute('aria-busy', String(Boolean(busy)));
    setText(this.state, STATES[action.status] ?? action.status);
    setText(this.result, action.outcome?.message ?? SENTENCES[action.status] ?? '');
    this.result.title = action.decided_at ? absolute(action.decided_at) : '';
    setText(this.problem, problem ?? '');
    setText(this.confirm, busy === 'confirm' ? 'Confirming…' : 'Confirm');
    setText(this.cancel, busy === 'reject' ? 'Cancelling…' : 'Cancel');
    setText(this.hint, `or type “confirm${onlyOne && !action.destructive ? '' : ` ${action.number}`}”`);
    this.busy = Boolean(busy);
    this.buttons.hidden = !pending;
    this.tick();
    if (!busy) this.#returnFocus(pending);
  }

  // A button loses the focus while it is disabled. Whoever uses the keyboard goes on there, or at what came of it.
  #returnFocus(pending) {
    if (this.pressed && document.activeElement === document.body) (pending ? this.pressed : this.result).focus();
    this.pressed = null;
  }

  /** The time that is left, each second. */
  tick() {
    const pending = this.action.status === 'PENDING';
    const seconds = pending ? secondsUntil(this.action.expires_at) : 0;
    this.confirm.disabled = this.busy || seconds <= 0;
    this.cancel.disabled = this.busy || seconds <= 0;
    this.left.hidden = !pending;
    setText(this.left, seconds > 0 ? `${clock(seconds)} left` : pending ? 'time is up' : '');
    this.left.title = `until ${absolute(this.action.expires_at)}`;
    this.left.classList.toggle('soon', seconds < 60);
  }
}

function details(action) {
  const parts = [h('p', { class: 'summary', dir: 'auto' }, action.summary)];
  if (action.changes.length > 0) parts.push(changesTable(action.changes));
  if (action.warnings.length > 0) {
    parts.push(
      h(
        'ul',
        { class: 'warnings', 'aria-label': 'Warnings' },
        ...action.warnings.map((warning) => h('li', { dir: 'auto' }, warning)),
      ),
    );
  }
  return parts;
}

function changesTable(changes) {
  const head = h('tr', {}, ...['What', 'Before', 'After'].map((name) => h('th', { scope: 'col' }, name)));
  const rows = changes.map(({ field, before, after }) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, label(field)),
      h('td', { class: 'before', dir: 'auto' }, value(before)),
      h('td', { class: 'after', dir: 'auto' }, value(after)),
    ),
  );
  return h('table', { class: 'changes' }, h('thead', {}, head), h('tbody', {}, ...rows));
}

function label(field) {
  return field.replaceAll('_', ' ');
}

function value(given) {
  if (given == null || given === '') return '—';
  if (Array.isArray(given)) return given.map(value).join(', ');
  return typeof given === 'object' ? JSON.stringify(given) : String(given);
}
