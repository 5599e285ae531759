/* Tabs: one panel of several. Arrow keys go from tab to tab, as the ARIA pattern has it. */

import { h, randomId } from './dom.js';

const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

export class Tabs {
  #tabs = [];

  /** `panels`: `[{ name, element }]`; `chosen(index)` runs whenever one is shown, for the first one too. */
  constructor(label, panels, chosen) {
    this.chosen = chosen;
    const id = randomId();
    this.#tabs = panels.map(({ name, element }, index) => {
      const tab = h(
        'button',
        {
          type: 'button',
          role: 'tab',
          id: `tab-${id}-${index}`,
          'aria-controls': `panel-${id}-${index}`,
          onclick: () => this.choose(index),
        },
        name,
      );
      const panel = h(
        'div',
        { role: 'tabpanel', id: `panel-${id}-${index}`, 'aria-labelledby': `tab-${id}-${index}` },
        element,
      );
      return { tab, panel };
    });
    this.element = h(
      'div',
      { class: 'tabs' },
      h(
        'div',
        { role: 'tablist', 'aria-label': label, onkeydown: (event) => this.#key(event) },
        this.#tabs.map(({ tab }) => tab),
      ),
      this.#tabs.map(({ panel }) => panel),
    );
  }

  choose(index) {
    this.index = index;
    this.#tabs.forEach(({ tab, panel }, at) => {
      tab.setAttribute('aria-selected', String(at === index));
      tab.tabIndex = at === index ? 0 : -1;
      panel.hidden = at !== index;
    });
    this.chosen(index);
  }

  #key(event) {
    const step = STEPS[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    const last = this.#tabs.length - 1;
    const next = Number.isFinite(step) ? (this.index + step + last + 1) % (last + 1) : step < 0 ? 0 : last;
    this.choose(next);
    this.#tabs[next].tab.focus();
  }
}
