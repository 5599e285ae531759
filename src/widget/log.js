/* The conversation on the screen: messages in order, redrawn at most once a frame, scrolled along while at its end. */

import { h } from './dom.js';
import { AnswerView, QuestionView, problemNodes } from './message_view.js';

const NEAR_END_PX = 60;

export class Log {
  #views = new Map(); // message → its view, in the order of the conversation
  #dirty = new Set(); // answers that changed since the last frame
  #atEnd = true;
  #size = '';

  /** `suggestions()` are offered where nothing has been said yet; `suggest(text)` sends the one that was chosen. */
  constructor(actions, suggestions, suggest) {
    Object.assign(this, { actions, suggestions, suggest });
    this.list = h('div', {
      class: 'messages',
      role: 'log',
      'aria-live': 'polite',
      'aria-label': 'Conversation',
      tabindex: 0,
      onscroll: () => this.#scrolled(),
    });
    this.latest = h(
      'button',
      { type: 'button', class: 'latest small', hidden: true, onclick: () => this.#toEnd() },
      'Latest ↓',
    );
    this.element = h('div', { class: 'log' }, this.list, this.latest);
    // Answers and cards grow, the keyboard of a phone makes the log smaller: its end stays in sight.
    this.sizes = new ResizeObserver(() => (this.#atEnd ? this.#toEnd() : this.#measure()));
    this.sizes.observe(this.list);
  }

  /** Shows a conversation from its history. */
  show(messages) {
    this.#views.clear();
    this.#dirty.clear();
    this.list.replaceChildren();
    if (messages.length === 0) this.list.append(this.#welcome());
    for (const message of messages) {
      if (message.role === 'user') this.ask(message);
      else this.answer(message);
    }
    this.#toEnd();
  }

  /** Whether these messages are what is shown already, or what is shown must not be lost. */
  shows(messages) {
    const outline = (list) => JSON.stringify(list.map((message) => [message.id, message.metadata?.status]));
    const unsent = [...this.#views.values()].some((view) => view.failed);
    return unsent || outline(messages) === outline([...this.#views.keys()]);
  }

  /** Adds what the user said. */
  ask(message) {
    this.list.querySelector('.welcome')?.remove();
    const view = new QuestionView(message);
    this.#add(message, view);
    return view;
  }

  /** Adds an answer, or the place where one will be. */
  answer(message) {
    const view = new AnswerView(this.actions);
    this.#add(message, view);
    view.update(message);
  }

  /** The answer has changed: it is drawn with the next frame. */
  changed(message) {
    this.#dropEarlier(message);
    if (this.#dirty.size === 0) nextFrame(() => this.#draw());
    this.#dirty.add(message);
  }

  drop(message) {
    this.#views.get(message)?.element.remove();
    this.#views.delete(message);
    this.#dirty.delete(message);
  }

  /** Says why there is nothing to show. */
  fail(problem, retry) {
    const again = h('button', { type: 'button', class: 'small', onclick: retry }, 'Try again');
    this.list.replaceChildren(h('div', { class: 'failure', role: 'alert' }, ...problemNodes(problem), again));
  }

  // A resumed answer takes the place of what the history knew of it.
  #dropEarlier(message) {
    for (const earlier of this.#views.keys()) {
      if (earlier !== message && earlier.role === 'assistant' && earlier.id === message.id) this.drop(earlier);
    }
  }

  #add(message, view) {
    this.#views.set(message, view);
    this.list.append(view.element);
    this.sizes.observe(view.element);
    if (message.role === 'user') this.#toEnd();
  }

  #draw() {
    const changed = [...this.#dirty];
    this.#dirty.clear();
    for (const message of changed) this.#views.get(message)?.update(message);
  }

  // Scrolling that comes with a new size is the browser's doing; only a person leaves the end.
  #scrolled() {
    if (this.#size === this.#sizeNow()) this.#measure();
  }

  #measure() {
    const { scrollHeight, scrollTop, clientHeight } = this.list;
    this.#size = this.#sizeNow();
    this.#atEnd = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
    this.latest.hidden = this.#atEnd;
  }

  #sizeNow() {
    return `${this.list.scrollHeight} ${this.list.clientHeight}`;
  }

  #toEnd() {
    this.list.scrollTop = this.list.scrollHeight;
    this.#measure();
  }

  #welcome() {
    const chip = (text) =>
      h('li', {}, h('button', { type: 'button', class: 'chip', onclick: () => this.suggest(text) }, text));
    return h(
      'div',
      { class: 'welcome' },
      h('p', {}, 'Ask about your jobs, or say what should change. Nothing changes before you confirm it.'),
      h('ul', { 'aria-label': 'Suggestions' }, ...this.suggestions().map(chip)),
    );
  }
}

// A hidden tab has no frames; its messages must not wait for somebody to look.
function nextFrame(draw) {
  if (document.hidden) setTimeout(draw, 200);
  else requestAnimationFrame(draw);
}
