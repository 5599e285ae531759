/* One check in the list: its state in words, when it last pinged, and how long it has left. */

import { copyButton, h, setText } from './dom.js';
import { absolute, ago, inShort, inWords, secondsUntil } from './time.js';

const FLASH_MS = 1600; // as long as its animation
const STATE_WORDS = { new: 'New', up: 'Up', late: 'Late', down: 'Down', paused: 'Paused' };

/** What a person would call its state: `paused`, `down`, `late`, `new` or `up`. */
export function stateOf(check) {
  if (check.paused_at) return 'paused';
  return check.late && check.status !== 'down' ? 'late' : check.status;
}

export class CheckRow {
  constructor(check) {
    this.name = h('h3', { dir: 'auto' });
    this.state = h('span', { class: 'chip-state' });
    this.running = h('span', { class: 'chip-running' }, 'Running');
    this.left = h('span', { class: 'left' });
    this.last = h('time', { class: 'last' });
    this.schedule = h('span', { class: 'schedule' });
    this.rejected = h('p', { class: 'rejected' });
    this.tags = h('ul', { class: 'tags', 'aria-label': 'Tags' });
    this.url = h('input', {
      class: 'url',
      type: 'text',
      readonly: true,
      hidden: true,
      onfocus: () => this.url.select(),
    });
    this.copy = copyButton(
      'Copy ping URL',
      () => this.check.ping_url,
      () => this.#showUrl(),
    );
    this.element = h(
      'li',
      { class: 'check' },
      h('div', { class: 'top' }, this.name, this.running, this.state),
      h('p', { class: 'facts' }, this.left, this.last),
      h('div', { class: 'bottom' }, this.schedule, this.tags, this.copy),
      this.rejected,
      this.url,
    );
    this.update(check);
  }

  update(check) {
    const tags = JSON.stringify(check.tags);
    if (JSON.stringify(this.check?.tags) !== tags)
      this.tags.replaceChildren(...check.tags.map((tag) => h('li', { dir: 'auto' }, tag)));
    this.check = check;
    const state = stateOf(check);
    this.element.dataset.state = state;
    this.element.dataset.id = check.id;
    setText(this.name, check.name);
    this.name.title = check.description ?? '';
    setText(this.state, STATE_WORDS[state] ?? state);
    this.running.hidden = !check.started || state === 'paused';
    setText(this.schedule, scheduleOf(check));
    this.copy.setAttribute('aria-label', `Copy ping URL of ${check.name}`);
    this.url.setAttribute('aria-label', `Ping URL of ${check.name}`);
    this.url.value = check.ping_url;
    this.tick();
  }

  /** The times, each second. */
  tick() {
    const { check } = this;
    setText(this.left, timeLeft(check));
    const until = nextTime(check);
    this.left.title = until ? absolute(until) : '';
    setText(this.last, check.last_ping_at ? `last ping ${ago(check.last_ping_at)}` : 'no ping yet');
    if (check.last_ping_at) {
      this.last.dateTime = check.last_ping_at;
      this.last.title = absolute(check.last_ping_at);
    }
    const rejected = check.rejected_count > 0 && check.last_rejected_at;
    this.rejected.hidden = !rejected;
    if (!rejected) return;
    const pings = check.rejected_count === 1 ? 'ping that came too early' : 'pings that came too early';
    setText(this.rejected, `refused ${check.rejected_count} ${pings}, the last ${ago(check.last_rejected_at)}`);
  }

  /** Draws the eye to a change. */
  flash() {
    this.element.classList.add('changed');
    setTimeout(() => this.element.classList.remove('changed'), FLASH_MS);
  }

  // Without a clipboard (a plain-http site) the address can still be copied by hand.
  #showUrl() {
    this.url.hidden = false;
    this.url.focus();
  }
}

/** The next time that matters for a check, or null. */
function nextTime(check) {
  const state = stateOf(check);
  if (state === 'paused') return check.paused_until;
  return state === 'late' || (check.started && check.deadline_at) ? check.deadline_at : check.due_at;
}

function timeLeft(check) {
  const until = nextTime(check);
  const seconds = until ? secondsUntil(until) : Infinity;
  switch (stateOf(check)) {
    case 'paused':
      return seconds < Infinity ? `for another ${inShort(seconds)}` : 'until resumed';
    case 'new':
      return 'waits for its first ping';
    case 'down':
      return seconds < 0 ? `was due ${ago(until)}` : 'its job reported a failure';
    case 'late':
      return seconds > 0 ? `down in ${inShort(seconds)}` : 'down any moment';
    default:
      if (seconds === Infinity) return '';
      if (check.started) return seconds > 0 ? `must finish in ${inShort(seconds)}` : 'should have finished';
      return seconds > 0 ? `due in ${inShort(seconds)}` : 'due now';
  }
}

function scheduleOf(check) {
  const when = check.cron
    ? `cron ${check.cron} ${check.timezone}`
    : `every ${inWords(check.period_seconds).replace(/^1 /, '')}`;
  return `${when} · grace ${inShort(check.grace_seconds)}`;
}
