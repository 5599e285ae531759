/* The chat: one conversation with the assistant, from its history to the answer that is being written. */

import { Actions } from './actions.js';
import { call } from './api.js';
import { Composer } from './composer.js';
import { h, randomId, storage } from './dom.js';
import { Log } from './log.js';
import { emptyAnswer, applyChunk } from './message.js';
import { resumeTurn, sendMessage } from './turn.js';

const STOP_GRACE_MS = 3000;

export class Chat {
  #turn = null; // the running turn: { abort, answer }
  #unsent = []; // the messages that wait for the limit

  /** `session` as `POST /api/session` gives it; `onDecided` runs when an action's state has changed. */
  constructor(session, { onDecided = () => {}, suggestions }) {
    this.key = `flatline.chat.${session.user?.id ?? 'anonymous'}`;
    this.conversation = storage.get(this.key) ?? randomId();
    this.actions = new Actions(onDecided);
    this.log = new Log(this.actions, suggestions, (text) => this.send(text));
    this.composer = new Composer({
      send: (text) => this.send(text),
      stop: () => this.stop(),
      release: () => this.#release(),
    });
    this.element = h(
      'section',
      { class: 'chat', id: 'chat', 'aria-labelledby': 'chat-title', tabindex: -1 },
      h(
        'header',
        { class: 'chat-head' },
        h('h2', { id: 'chat-title' }, 'Assistant'),
        h('span', { class: 'model' }, session.model.offline ? '' : session.model.name),
        h('button', { type: 'button', class: 'quiet small', onclick: () => this.startNew() }, 'New chat'),
      ),
      session.model.offline ? offlineBanner() : null,
      this.log.element,
      this.composer.element,
    );
    this.#limits(session.limits);
    document.addEventListener('visibilitychange', () => this.#catchUp());
  }

  /** Shows the conversation as the server knows it, and takes up a turn that is still running. */
  async load() {
    const conversation = this.conversation;
    const messages = await this.#history(conversation);
    if (conversation !== this.conversation || this.#turn) return;
    this.actions.clear();
    this.log.show(messages);
    if (messages.at(-1)?.metadata?.status === 'streaming') await this.#resume();
  }

  /** Sends a message. Sent again with the same id, it is the same message and never a second one. */
  async send(text, id = randomId()) {
    if (this.#turn) return;
    const question = { id, role: 'user', parts: [{ type: 'text', text }] };
    const view = this.log.ask(question);
    const turn = this.#begin();
    try {
      await this.#finish(turn, await sendMessage(this.conversation, question, this.#watcher(turn), turn.abort.signal));
    } catch (problem) {
      this.log.drop(turn.answer);
      if (!turn.abort.signal.aborted) this.#refused(question, view, problem);
    } finally {
      this.#end(turn);
    }
  }

  /** Asks the server to stop; if the stream does not end soon after, stops listening. */
  async stop() {
    const turn = this.#turn;
    if (!turn) return;
    const body = turn.answer.id === null ? {} : { message_id: turn.answer.id };
    await call('POST', `${this.#path()}/stop`, body).catch(() => {});
    setTimeout(() => {
      if (this.#turn !== turn) return;
      turn.abort.abort();
      this.#end(turn);
      this.load().catch(() => {});
    }, STOP_GRACE_MS);
  }

  startNew() {
    this.#turn?.abort.abort();
    this.#turn = null;
    this.composer.running = false;
    this.conversation = randomId();
    storage.set(this.key, null);
    this.actions.clear();
    this.log.show([]);
    this.composer.field.focus();
  }

  async #resume() {
    const turn = this.#begin();
    try {
      const ended = await resumeTurn(this.conversation, this.#watcher(turn), turn.abort.signal);
      await this.#finish(turn, ended === true);
    } catch {
      this.log.drop(turn.answer);
    } finally {
      this.#end(turn);
    }
  }

  #begin() {
    const turn = { abort: new AbortController(), answer: emptyAnswer() };
    this.#turn = turn;
    this.composer.running = true;
    this.log.answer(turn.answer);
    return turn;
  }

  #watcher(turn) {
    return {
      accepted: (response) => {
        storage.set(this.key, this.conversation);
        this.#remaining(response.headers.get('RateLimit'));
      },
      chunk: (chunk) => {
        applyChunk(turn.answer, chunk);
        turn.answer.note = null;
        this.log.changed(turn.answer);
      },
      broken: () => {
        turn.answer.note = 'The connection broke. Reconnecting…';
        this.log.changed(turn.answer);
      },
    };
  }

  async #finish(turn, whole) {
    if (whole || turn !== this.#turn) return;
    // The stream cannot tell how the turn ended. The history can.
    this.#end(turn);
    await this.load().catch(() => {
      turn.answer.metadata.status = 'failed';
      turn.answer.note = 'The connection broke. Reload the page to see the whole answer.';
      this.log.changed(turn.answer);
    });
  }

  #end(turn) {
    if (this.#turn !== turn) return;
    this.#turn = null;
    this.composer.running = false;
  }

  #refused(question, view, problem) {
    const { text } = question.parts[0];
    const again = (next) => () => {
      this.log.drop(question);
      next();
    };
    view.fail(problem, {
      retry: again(() => this.send(text, question.id)),
      edit: again(() => this.composer.fill(text)),
    });
    const wait = problem.status === 429 ? problem.retryAfterSeconds : null;
    if (wait === null) return;
    view.retry.disabled = true;
    this.#unsent.push(view);
    this.composer.hold(wait);
  }

  #release() {
    this.#unsent.forEach((view) => (view.retry.disabled = false));
    this.#unsent = [];
  }

  #limits(limits) {
    const left = limits.map((limit) => limit.remaining);
    if (left.length > 0) this.composer.remaining(Math.min(...left));
  }

  #remaining(header) {
    const left = [...(header ?? '').matchAll(/;r=(\d+)/g)].map((match) => Number(match[1]));
    if (left.length > 0) this.composer.remaining(Math.min(...left));
  }

  // Another tab or device may have gone on with this conversation while nobody looked here.
  async #catchUp() {
    if (document.hidden || this.#turn) return;
    try {
      const messages = await this.#history(this.conversation);
      if (!this.#turn && !this.log.shows(messages)) await this.load();
    } catch {
      // What is shown stays; the next look tries again.
    }
  }

  async #history(conversation) {
    if (storage.get(this.key) !== conversation) return []; // Nothing has been said in it yet.
    try {
      return (await call('GET', `/api/chat/${encodeURIComponent(conversation)}`)).messages;
    } catch (problem) {
      if (problem.status === 404) return []; // Deleted, or the session that had it is gone.
      throw problem;
    }
  }

  #path() {
    return `/api/chat/${encodeURIComponent(this.conversation)}`;
  }
}

function offlineBanner() {
  return h(
    'p',
    { class: 'banner' },
    h('strong', {}, 'Offline assistant. '),
    'No language model is connected; this one understands plain commands. Say ',
    h('q', {}, 'help'),
    ' to see them.',
  );
}
