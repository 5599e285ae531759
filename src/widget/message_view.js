/* One message in the log: its text as nodes, what the assistant is doing, the cards, and how it ended. */

import { h, setText } from './dom.js';
import { TextView } from './render.js';
import { absolute } from './time.js';

const TOOLS = {
  list_checks: ['Looking at your checks…', 'Looked at your checks'],
  get_check: ['Looking at a check…', 'Looked at a check'],
  get_account: ['Looking at your plan…', 'Looked at your plan'],
  get_uptime: ['Looking at the uptime…', 'Looked at the uptime'],
  preview_change: ['Trying out a change…', 'Tried out a change, without making it'],
  preview_schedule: ['Trying out a schedule…', 'Tried out a schedule'],
};
const PROPOSING = ['Preparing a change for you to confirm…', ''];
const ENDINGS = { interrupted: 'Stopped before the end.', failed: 'This answer could not be finished.' };

/** What the assistant said. `update` may be called as often as the message changes. */
export class AnswerView {
  #parts = [];

  constructor(actions) {
    this.actions = actions;
    this.body = h('div', { class: 'body' });
    this.waiting = h(
      'p',
      { class: 'waiting' },
      h('span', { class: 'visually-hidden' }, 'The assistant is answering'),
      h('i'),
      h('i'),
      h('i'),
    );
    this.ending = h('p', { class: 'ending' });
    this.element = h(
      'article',
      { class: 'message assistant', 'aria-label': 'Assistant' },
      this.body,
      this.waiting,
      this.ending,
    );
  }

  update(message) {
    const streaming = message.metadata.status === 'streaming';
    const parts = message.parts.filter((part) => partKind(part));
    const restarted = this.#parts.some((view, index) => view.kind !== partKind(parts[index] ?? {}));
    if (restarted) this.#reset();
    parts.forEach((part, index) => {
      this.#parts[index] ??= this.#add(part);
      this.#parts[index].update(part);
    });
    // A screen reader hears the answer once it is whole, not word by word.
    this.element.setAttribute('aria-busy', String(streaming));
    this.waiting.hidden = !streaming || parts.at(-1)?.text?.length > 0;
    setText(this.ending, message.error ?? message.note ?? ENDINGS[message.metadata.status] ?? '');
    this.ending.classList.toggle('error', message.metadata.status === 'failed');
  }

  #add(part) {
    const view = VIEWS[partKind(part)](part, this.actions);
    this.body.append(view.element);
    return { ...view, kind: partKind(part) };
  }

  #reset() {
    this.#parts = [];
    this.body.replaceChildren();
  }
}

function partKind({ type = '' }) {
  if (type.startsWith('tool-') || type === 'dynamic-tool') return 'tool';
  return Object.hasOwn(VIEWS, type) ? type : null;
}

const VIEWS = {
  text() {
    const view = new TextView();
    return { element: view.element, update: (part) => view.update(part.text) };
  },

  reasoning() {
    const view = new TextView();
    const element = h('details', { class: 'reasoning' }, h('summary', {}, 'How the assistant got there'), view.element);
    return { element, update: (part) => view.update(part.text) };
  },

  tool() {
    const element = h('p', { class: 'tool' });
    return {
      element,
      update(part) {
        const [doing, done] = TOOLS[part.toolName ?? part.type.slice('tool-'.length)] ?? PROPOSING;
        const failed = part.state === 'output-error';
        const text = failed
          ? 'That could not be looked up or prepared.'
          : part.state === 'output-available'
            ? done
            : doing;
        setText(element, text);
        element.hidden = text === '';
        element.classList.toggle('running', text === doing);
      },
    };
  },

  'data-action'(part, actions) {
    return { element: actions.card(part.data), update: (later) => actions.note(later.data) };
  },
};

/** What the user said, as it was typed; with a way on if it did not arrive. */
export class QuestionView {
  failed = false;

  constructor(message) {
    const text = message.parts
      .filter((part) => part.type === 'text')
      .map((part) => part.text)
      .join('\n');
    const createdAt = message.metadata?.created_at;
    this.problem = h('p');
    this.retry = h('button', { type: 'button', class: 'small' }, 'Try again');
    this.edit = h('button', { type: 'button', class: 'small quiet' }, 'Edit');
    this.failure = h('div', { class: 'failure', role: 'alert', hidden: true }, this.problem, this.retry, this.edit);
    const bubble = h('p', { class: 'bubble', dir: 'auto', title: createdAt ? absolute(createdAt) : null }, text);
    this.element = h('article', { class: 'message user', 'aria-label': 'You' }, bubble, this.failure);
  }

  /** Not sent: says why and offers what helps. */
  fail(problem, { retry, edit }) {
    this.failed = true;
    this.element.classList.add('unsent');
    this.retry.onclick = retry;
    this.edit.onclick = edit;
    this.problem.replaceChildren(h('strong', {}, 'Not sent. '), ...problemNodes(problem));
    this.failure.hidden = false;
  }
}

/** A problem for a person: the sentence, and in small print the id that finds it in the log. */
export function problemNodes(problem) {
  const nodes = [h('span', {}, problem.message)];
  if (problem.requestId) nodes.push(h('small', {}, ` Request ${problem.requestId}`));
  return nodes;
}
