/* Pausing a check by hand: for an hour, until tomorrow morning, until a time of one's own, or until it is resumed. */

import { call } from './api.js';
import { h, setText } from './dom.js';
import { serverNow } from './time.js';

const HOUR_MS = 3_600_000;
const MORNING = 9; // o'clock, in the reader's zone

export class PauseMenu {
  /** `check()` is the check as it is now; `changed(check)` gets what the server made of it. */
  constructor(check, changed) {
    Object.assign(this, { check, changed });
    this.toggle = h(
      'button',
      { type: 'button', class: 'quiet small', 'aria-expanded': 'false', onclick: () => this.#press() },
      'Pause…',
    );
    this.resume = h('button', { type: 'button', class: 'small', onclick: () => this.#send('resume') }, 'Resume');
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.element = h('div', {
      class: 'pause-menu',
      role: 'group',
      hidden: true,
      onkeydown: (event) => this.#key(event),
    });
  }

  /** The check has changed. */
  update() {
    const { name, paused_at: paused } = this.check();
    this.resume.hidden = !paused;
    setText(this.toggle, paused ? 'Until…' : 'Pause…');
    this.toggle.setAttribute('aria-label', paused ? `Change until when ${name} is paused` : `Pause ${name}`);
    this.resume.setAttribute('aria-label', `Resume ${name}`);
    this.element.setAttribute('aria-label', `Pause ${name}`);
  }

  #press() {
    this.#open(this.element.hidden);
    if (!this.element.hidden) this.element.querySelector('button').focus();
  }

  #open(open) {
    if (open && !this.until) this.#build();
    this.element.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    setText(this.problem, '');
    if (!open) return;
    const morning = tomorrow().toLocaleTimeString(undefined, { hour: 'numeric', minute: '2-digit' });
    setText(this.morning, `Until tomorrow, ${morning}`);
    this.until.min = localValue(new Date(serverNow()));
    this.until.value = localValue(tomorrow());
  }

  // Only once somebody opens it: a thousand checks have a thousand menus.
  #build() {
    this.morning = button('', () => this.#pause(tomorrow()));
    this.until = h('input', { type: 'datetime-local', 'aria-label': 'Pause until' });
    this.element.append(
      button('For 1 hour', () => this.#pause(new Date(serverNow() + HOUR_MS))),
      this.morning,
      button('Until resumed', () => this.#pause(null)),
      h(
        'form',
        { novalidate: true, onsubmit: (event) => this.#submit(event) },
        h('span', { 'aria-hidden': 'true' }, 'or until'),
        this.until,
        h('button', { type: 'submit', class: 'small' }, 'Pause'),
      ),
      this.problem,
    );
  }

  #key(event) {
    if (event.key !== 'Escape') return;
    this.#open(false);
    this.toggle.focus();
  }

  #submit(event) {
    event.preventDefault();
    const until = new Date(this.until.value);
    if (Number.isNaN(until.getTime())) setText(this.problem, 'Choose a day and a time.');
    else this.#pause(until);
  }

  #pause(until) {
    return this.#send('pause', until === null ? {} : { until: until.toISOString() });
  }

  async #send(what, body) {
    if (this.busy) return;
    this.busy = true;
    this.element.setAttribute('aria-busy', 'true');
    try {
      const check = await call('POST', `/api/checks/${encodeURIComponent(this.check().id)}/${what}`, body);
      // The pressed button is going to be hidden: whoever uses the keyboard goes on beside it.
      const pressed = document.activeElement === this.resume || this.element.contains(document.activeElement);
      this.#open(false);
      if (pressed) this.toggle.focus();
      this.changed(check);
    } catch (problem) {
      this.#open(true);
      setText(this.problem, problem.message);
    } finally {
      this.busy = false;
      this.element.removeAttribute('aria-busy');
    }
  }
}

function button(label, onclick) {
  return h('button', { type: 'button', class: 'small', onclick }, label);
}

function tomorrow() {
  const now = new Date(serverNow());
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1, MORNING);
}

/** A time as an input of type `datetime-local` has it: in the reader's zone, to the minute. */
function localValue(date) {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
