/* Where the user writes: the text field, Send or Stop, and the wait when the limit is reached. */

import { h, hidden, setText } from './dom.js';
import { everySecond, inWords } from './time.js';

const LONGEST = 4000; // characters, as the server counts them
const FEW = 3; // messages left: worth a word
const LEFT_TOLD_MS = 60_000; // the window slides: an old count means nothing
const DECISION = /^\s*(confirm|cancel)\b/i; // costs no quota, so it may always be sent

export class Composer {
  #heldUntil = 0;
  #running = false;

  /** `send(text)` and `stop()`; `release()` runs when a wait is over. */
  constructor({ send, stop, release }) {
    Object.assign(this, { send, stop, release });
    this.field = h('textarea', {
      id: 'message',
      rows: 1,
      placeholder: 'Ask, or say what to change',
      autocomplete: 'off',
      enterkeyhint: 'send',
      'aria-describedby': 'composer-note',
      oninput: () => this.#show(),
      onkeydown: (event) => this.#key(event),
    });
    this.button = h('button', { type: 'submit', class: 'primary' }, 'Send');
    this.note = h('p', { id: 'composer-note', class: 'note' });
    this.announcement = hidden('p', { role: 'status' });
    this.element = h(
      'form',
      { class: 'composer', onsubmit: (event) => this.#submit(event) },
      hidden('label', { for: 'message' }, 'Message to the assistant'),
      h('div', { class: 'line' }, this.field, this.button),
      this.note,
      this.announcement,
    );
    everySecond(() => this.#show());
    this.#show();
  }

  get held() {
    return performance.now() < this.#heldUntil;
  }

  set running(running) {
    this.#running = running;
    this.#show();
  }

  /** The limit is reached: nothing can be sent for so many seconds. */
  hold(seconds) {
    this.#heldUntil = performance.now() + seconds * 1000;
    setText(this.announcement, `You can send again in ${inWords(seconds)}.`);
    this.#show();
  }

  /** How many messages are left, said when it gets tight. */
  remaining(left) {
    this.left = left;
    this.leftUntil = performance.now() + LEFT_TOLD_MS;
    this.#show();
  }

  fill(text) {
    this.field.value = text;
    this.field.focus();
    this.#show();
  }

  #key(event) {
    // While an input method composes a character, Enter belongs to it.
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (!this.#running) this.element.requestSubmit();
  }

  #submit(event) {
    event.preventDefault();
    if (this.#running) {
      this.stop();
      return;
    }
    const text = this.field.value.trim();
    if (text === '' || this.#tooLong(text) || (this.held && !DECISION.test(text))) return;
    this.field.value = '';
    this.send(text);
    this.#show();
  }

  #tooLong(text) {
    return text.length > LONGEST && count(text) > LONGEST;
  }

  #show() {
    const text = this.field.value.trim();
    const wait = Math.ceil((this.#heldUntil - performance.now()) / 1000);
    if (this.#heldUntil > 0 && wait <= 0) {
      this.#heldUntil = 0;
      setText(this.announcement, 'You can send again.');
      this.release();
    }
    setText(this.button, this.#running ? 'Stop' : 'Send');
    this.button.classList.toggle('primary', !this.#running);
    this.button.disabled = !this.#running && (this.#tooLong(text) || (wait > 0 && !DECISION.test(text)));
    this.note.classList.toggle('wait', wait > 0);
    setText(this.note, this.#hint(text, wait));
  }

  #hint(text, wait) {
    if (wait > 0) return `You can send again in ${inWords(wait)}.`;
    if (this.#tooLong(text))
      return `${count(text).toLocaleString()} characters; at most ${LONGEST.toLocaleString()} fit.`;
    const few = this.left <= FEW && performance.now() < this.leftUntil;
    if (few) return `${this.left} ${this.left === 1 ? 'message' : 'messages'} left for now.`;
    return 'Enter sends, Shift and Enter begins a new line.';
  }
}

function count(text) {
  return [...text].length;
}
