/* A new channel: its kind, its name, where it leads. A webhook's secret is shown once, after that. */

import { call } from './api.js';
import { codeBlock, h, setText } from './dom.js';
import { Field, showAtField } from './field.js';

const KINDS = { webhook: 'Webhook', slack: 'Slack', email: 'Mail' };

/** The word for a kind of channel. */
export function kindWord(kind) {
  return KINDS[kind] ?? kind;
}

export class ChannelForm {
  /** `made(channel)` runs when there is a new channel, `close()` when the person is through. */
  constructor({ made, close }) {
    Object.assign(this, { made, close });
    const select = h(
      'select',
      { onchange: () => this.#kind() },
      Object.entries(KINDS).map(([value, word]) => h('option', { value }, word)),
    );
    this.kind = new Field('Kind', {}, select);
    this.name = new Field('Name', { maxlength: 100, placeholder: 'on call' });
    this.url = new Field('URL', { type: 'url', placeholder: 'https://', inputmode: 'url' });
    this.address = new Field('Address', { type: 'email', placeholder: 'ops@example.org', inputmode: 'email' });
    this.problem = h('p', { class: 'problem', role: 'alert' });
    this.add = h('button', { type: 'submit', class: 'primary' }, 'Add channel');
    const cancel = h('button', { type: 'button', onclick: close }, 'Cancel');
    this.form = h(
      'form',
      {
        class: 'channel-form',
        novalidate: true,
        'aria-label': 'New channel',
        onsubmit: (event) => this.#submit(event),
      },
      this.kind.element,
      this.name.element,
      this.url.element,
      this.address.element,
      h('p', { class: 'hint' }, 'All your checks will tell it.'),
      this.problem,
      h('div', { class: 'buttons' }, this.add, cancel),
    );
    this.secret = h('section', { class: 'secret', hidden: true, 'aria-label': 'Signing secret', tabindex: -1 });
    this.element = h('div', { hidden: true }, this.form, this.secret);
    this.#kind();
  }

  /** Empty, for the next channel. */
  open() {
    this.form.reset();
    this.#kind();
    this.element.hidden = false;
    this.form.hidden = false;
    this.secret.hidden = true;
    this.kind.input.focus();
  }

  hide() {
    this.element.hidden = true;
    this.secret.replaceChildren(); // Once is once.
  }

  #kind() {
    this.#clear();
    const mail = this.kind.value === 'email';
    this.url.element.hidden = mail;
    this.address.element.hidden = !mail;
  }

  #clear() {
    for (const field of [this.kind, this.name, this.url, this.address]) field.fail('');
    setText(this.problem, '');
  }

  async #submit(event) {
    event.preventDefault();
    if (this.add.disabled) return;
    this.#clear();
    const { kind, name, url, address } = this;
    const target = kind.value === 'email' ? { address: address.value } : { url: url.value };
    this.add.disabled = true;
    try {
      const { secret, ...channel } = await call('POST', '/api/channels', {
        kind: kind.value,
        name: name.value,
        ...target,
      });
      this.made(channel);
      if (secret) this.#tell(channel, secret);
      else this.close();
    } catch (problem) {
      setText(this.problem, showAtField(problem, { kind, name, url, address }));
    } finally {
      this.add.disabled = false;
    }
  }

  #tell(channel, secret) {
    this.form.hidden = true;
    this.secret.hidden = false;
    this.secret.replaceChildren(
      h('h4', {}, 'Signing secret of ', h('bdi', {}, channel.name)),
      h(
        'p',
        {},
        'With it the receiver tells our messages from forged ones. Keep it now: ',
        h('strong', {}, 'it will not be shown again.'),
      ),
      codeBlock(secret, 'the signing secret'),
      h('button', { type: 'button', class: 'primary', onclick: this.close }, 'I have kept it'),
    );
    this.secret.focus();
  }
}
