/* The account's channels: where alerts go. A button in the head of the list of checks opens them above it. */

import { all } from './api.js';
import { ChannelForm } from './channel_form.js';
import { ChannelRow } from './channel_row.js';
import { arrange, h, setText } from './dom.js';
import { everySecond } from './time.js';

const REFRESH_EVERY_S = 5; // while the panel is open
const REST_EVERY_S = 15; // else: only their number and names are shown then

export class Channels {
  #channels = null; // null before the first answer
  #rows = new Map(); // channel id → its row
  #epoch = 0; // moves with every change made here: an answer that was asked for before is old
  #seconds = 0;

  constructor() {
    this.toggle = h(
      'button',
      {
        type: 'button',
        class: 'small',
        'aria-expanded': 'false',
        'aria-controls': 'channels',
        onclick: () => this.#press(),
      },
      'Channels',
    );
    this.title = h('h3', { id: 'channels-title', tabindex: -1 }, 'Channels');
    this.list = h('ul', { class: 'channel-list', 'aria-labelledby': 'channels-title' });
    this.empty = h('p', { class: 'empty', hidden: true }, 'There is none yet: nobody is told when a check goes down.');
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.add = h('button', { type: 'button', class: 'small', onclick: () => this.#openForm() }, 'Add a channel');
    this.form = new ChannelForm({ made: (channel) => this.#learn(channel), close: () => this.#closeForm() });
    this.element = h(
      'section',
      { class: 'channels', id: 'channels', 'aria-labelledby': 'channels-title', hidden: true },
      h('header', {}, this.title, this.add),
      h('p', { class: 'hint' }, 'Where alerts go when a check goes down, and when it comes up again.'),
      this.form.element,
      this.problem,
      this.list,
      this.empty,
    );
    everySecond(() => this.#everySecond());
  }

  /** The names of those channels, or null while they are not known. */
  names(ids) {
    if (this.#channels === null) return null;
    const names = new Map(this.#channels.map(({ id, name }) => [id, name]));
    return ids.map((id) => names.get(id)).filter((name) => name !== undefined);
  }

  async refresh() {
    this.#seconds = 0;
    const epoch = this.#epoch;
    try {
      const channels = await all('/api/channels', 'channels');
      if (epoch !== this.#epoch) return;
      setText(this.problem, '');
      this.#show(channels);
    } catch (problem) {
      setText(this.problem, problem.message);
    }
  }

  #show(channels) {
    this.#channels = channels;
    const rows = new Map();
    for (const channel of channels) {
      const row = this.#rows.get(channel.id);
      row?.update(channel);
      rows.set(channel.id, row ?? this.#row(channel));
    }
    this.#rows = rows;
    arrange(
      this.list,
      [...rows.values()].map(({ element }) => element),
    );
    this.empty.hidden = channels.length > 0;
    setText(this.toggle, `Channels: ${channels.length || 'none'}`);
    this.toggle.classList.toggle('wanting', channels.length === 0);
  }

  #row(channel) {
    return new ChannelRow(channel, {
      changed: (changed) => this.#learn(changed),
      deleted: () => {
        this.#epoch += 1;
        this.#show(this.#channels.filter(({ id }) => id !== channel.id));
        this.title.focus(); // What had the focus is gone.
      },
    });
  }

  /** Takes in a channel that was made or changed here. */
  #learn(channel) {
    this.#epoch += 1;
    const known = this.#channels ?? [];
    const changed = known.map((old) => (old.id === channel.id ? channel : old));
    this.#show(changed.includes(channel) ? changed : [...known, channel]);
  }

  #press() {
    const open = this.element.hidden;
    this.element.hidden = !open;
    this.toggle.setAttribute('aria-expanded', String(open));
    if (!open) return this.#closeForm();
    this.refresh();
    this.title.focus();
  }

  #openForm() {
    this.add.hidden = true;
    this.form.open();
  }

  #closeForm() {
    const inside = this.form.element.contains(document.activeElement);
    this.form.hide();
    this.add.hidden = false;
    if (inside) this.add.focus();
  }

  #everySecond() {
    this.#seconds += 1;
    const wait = this.element.hidden ? REST_EVERY_S : REFRESH_EVERY_S;
    if (this.#seconds >= wait && !document.hidden && this.element.isConnected) this.refresh();
  }
}
