/* One channel: where it leads, and its buttons, each of which answers in place. */

import { call } from './api.js';
import { kindWord } from './channel_form.js';
import { h, setText } from './dom.js';
import { Field, showAtField } from './field.js';
import { deliveryInWords } from './history_items.js';

const LOOK_EVERY_MS = 500;
const LOOK_FOR_MS = 8000;

export class ChannelRow {
  /** `changed(channel)` gets the channel that was changed here, `deleted()` runs when it was deleted. */
  constructor(channel, { changed, deleted }) {
    Object.assign(this, { changed, deleted });
    this.name = h('bdi', {});
    this.kind = h('span', { class: 'kind' });
    this.target = h('p', { class: 'target', dir: 'ltr' });
    this.test = small('Send a test', () => this.#test());
    this.rename = small('Rename', () => this.#open(this.#renaming()));
    this.remove = small('Delete', () => this.#open(this.#deleting()));
    this.status = h('p', { class: 'status', role: 'status' });
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.buttons = h('div', { class: 'buttons' }, this.test, this.rename, this.remove);
    this.place = h('div', { hidden: true, onkeydown: (event) => this.#key(event) });
    this.element = h(
      'li',
      { class: 'channel' },
      h('div', { class: 'top' }, h('h4', {}, this.name), this.kind, this.buttons),
      this.target,
      this.place,
      this.status,
      this.problem,
    );
    this.update(channel);
  }

  update(channel) {
    this.channel = channel;
    setText(this.name, channel.name);
    setText(this.kind, kindWord(channel.kind));
    setText(this.target, channel.url ?? channel.address);
    this.test.setAttribute('aria-label', `Send a test to ${channel.name}`);
    this.rename.setAttribute('aria-label', `Rename ${channel.name}`);
    this.remove.setAttribute('aria-label', `Delete ${channel.name}`);
  }

  #path(tail = '') {
    return `/api/channels/${encodeURIComponent(this.channel.id)}${tail}`;
  }

  // One question at a time stands below the channel.
  #open({ nodes, focus, from }) {
    setText(this.problem, '');
    setText(this.status, '');
    this.from = from;
    this.place.replaceChildren(...nodes);
    this.place.hidden = false;
    focus.focus();
  }

  #close() {
    this.place.hidden = true;
    this.place.replaceChildren();
    this.from.focus();
  }

  #key(event) {
    if (event.key !== 'Escape') return;
    event.stopPropagation();
    this.#close();
  }

  #renaming() {
    const name = new Field('New name', { maxlength: 100, value: this.channel.name });
    const save = async (event) => {
      event.preventDefault();
      await this.#once(async () => {
        try {
          this.changed(await call('PATCH', this.#path(), { name: name.value }));
          this.#close();
        } catch (problem) {
          setText(this.problem, showAtField(problem, { name }));
        }
      });
    };
    const form = h(
      'form',
      { class: 'channel-form', novalidate: true, onsubmit: save },
      name.element,
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'submit', class: 'small primary' }, 'Save'),
        small('Cancel', () => this.#close()),
      ),
    );
    return { nodes: [form], focus: name.input, from: this.rename };
  }

  #deleting() {
    const no = small('Keep it', () => this.#close());
    const yes = h('button', { type: 'button', class: 'small danger', onclick: () => this.#delete() }, 'Delete channel');
    const question = h(
      'p',
      {},
      'Delete ',
      h('bdi', {}, this.channel.name),
      '? No check will tell it any more, and the list of what was sent there goes too.',
    );
    return { nodes: [question, h('div', { class: 'buttons' }, yes, no)], focus: no, from: this.remove };
  }

  #delete() {
    return this.#once(async () => {
      try {
        await call('DELETE', this.#path());
      } catch (problem) {
        // Deleted elsewhere: it is gone, as was wished.
        if (problem.status !== 404) return setText(this.problem, problem.message);
      }
      this.deleted();
    });
  }

  #test() {
    return this.#once(async () => {
      setText(this.problem, '');
      setText(this.status, 'Sending a test…');
      this.test.disabled = true;
      try {
        const delivery = await call('POST', this.#path('/test'));
        setText(this.status, `Test: ${deliveryInWords(await this.#follow(delivery))}.`);
      } catch (problem) {
        setText(this.status, '');
        setText(this.problem, problem.message);
      } finally {
        this.test.disabled = false;
        if (document.activeElement === document.body && this.element.isConnected) this.test.focus();
      }
    });
  }

  /** Looks how a delivery goes, until it has ended or was tried in vain, for a few seconds at most. */
  async #follow(delivery) {
    const end = performance.now() + LOOK_FOR_MS;
    let known = delivery;
    while (known.status === 'pending' && !known.last_error && performance.now() < end) {
      await new Promise((next) => setTimeout(next, LOOK_EVERY_MS));
      const { deliveries } = await call('GET', this.#path('/deliveries?limit=10'));
      known = deliveries.find(({ id }) => id === delivery.id) ?? known;
    }
    return known;
  }

  async #once(work) {
    if (this.busy) return;
    this.busy = true;
    await work().finally(() => (this.busy = false));
  }
}

function small(label, onclick) {
  return h('button', { type: 'button', class: 'quiet small', onclick }, label);
}
