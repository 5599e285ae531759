/* One check in the list: its state in words, its last ping, the time it has left, its last 30 days, its buttons. */

import { Bars } from './bars.js';
import { nextTime, scheduleOf, stateOf, timeLeft } from './check_words.js';
import { copyButton, h, setText } from './dom.js';
import { PauseMenu } from './pause_menu.js';
import { absolute, ago } from './time.js';

const FLASH_MS = 1600; // as long as its animation
const STATE_WORDS = { new: 'New', up: 'Up', late: 'Late', down: 'Down', paused: 'Paused' };

export class CheckRow {
  /** `toggle()` opens and closes the details; `changed(check)` gets the check that a button here has changed. */
  constructor(check, { toggle, changed }) {
    this.name = h('button', { type: 'button', dir: 'auto', 'aria-expanded': 'false', onclick: toggle });
    this.state = h('span', { class: 'chip-state' });
    this.running = h('span', { class: 'chip-running' }, 'Running');
    this.left = h('span', { class: 'left' });
    this.last = h('time', { class: 'last' });
    this.bars = new Bars();
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
    this.pause = new PauseMenu(() => this.check, changed);
    this.element = h(
      'li',
      { class: 'check' },
      h('div', { class: 'top' }, h('h3', {}, this.name), this.running, this.state),
      h('div', { class: 'facts' }, h('p', {}, this.left, this.last), this.bars.element),
      h(
        'div',
        { class: 'bottom' },
        h('p', {}, this.schedule, this.tags),
        h('div', { class: 'buttons' }, this.copy, this.pause.toggle, this.pause.resume),
      ),
      this.rejected,
      this.url,
      this.pause.element,
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
    const until = nextTime(check);
    this.left.title = until ? absolute(until) : '';
    this.last.dateTime = check.last_ping_at ?? '';
    this.last.title = check.last_ping_at ? absolute(check.last_ping_at) : '';
    this.pause.update();
    this.detail?.update(check);
    this.tick();
  }

  /** The details, below everything else; null takes them away. */
  showDetail(detail) {
    this.detail?.remove();
    this.detail = detail;
    this.name.setAttribute('aria-expanded', String(detail !== null));
    if (detail) this.element.append(detail.element);
  }

  /** The times, each second, of a thousand rows: no more than that. */
  tick() {
    const { check } = this;
    setText(this.left, timeLeft(check));
    setText(this.last, check.last_ping_at ? `last ping ${ago(check.last_ping_at)}` : 'no ping yet');
    const rejected = check.rejected_count > 0 && check.last_rejected_at;
    this.rejected.hidden = !rejected;
    if (rejected) {
      const pings = check.rejected_count === 1 ? 'ping that came too early' : 'pings that came too early';
      setText(this.rejected, `refused ${check.rejected_count} ${pings}, the last ${ago(check.last_rejected_at)}`);
    }
    this.detail?.tick();
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
