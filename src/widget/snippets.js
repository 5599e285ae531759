/* How to ping a check: its URL, ready-made lines for shells and programs where the server has them, its badge. */

import { call } from './api.js';
import { codeBlock, h } from './dom.js';

export class Snippets {
  #shown = null;
  #asked = null; // the ping URL for which the ready-made lines were asked for

  constructor(path) {
    this.path = path;
    this.first = h('div', { class: 'snippets' });
    this.more = h('div', { class: 'snippets' });
    this.element = h('div', {}, this.first, this.more);
  }

  /** Shows the check's addresses; asks for the lines once, and again when the URL is another one. */
  async refresh(check) {
    this.#show(check);
    if (this.#asked === check.ping_url) return;
    this.#asked = check.ping_url;
    try {
      const { snippets } = await call('GET', `${this.path}/snippets`);
      if (this.#asked !== check.ping_url) return;
      this.more.replaceChildren(...snippets.flatMap(({ title, text }) => block(title, text)));
    } catch (problem) {
      this.more.replaceChildren();
      if (problem.status !== 404) this.#asked = null; // The next round asks again.
    }
  }

  #show({ ping_url: url, badge_url: badge }) {
    const shown = JSON.stringify([url, badge]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.first.replaceChildren(
      ...block('Ping URL: whoever knows it can ping', url),
      ...(badge ? block('Badge: its state for everybody who has the address', badge) : []),
    );
  }
}

function block(title, text) {
  return [h('h4', { dir: 'auto' }, title), codeBlock(text, title)];
}
