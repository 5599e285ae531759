/* A labelled input with a place for what is wrong with it. */

import { h, randomId, setText } from './dom.js';

export class Field {
  /** `props` are the input's; `input` may be another control than a line of text. */
  constructor(label, props = {}, input = null) {
    const id = `field-${randomId()}`;
    this.label = h('label', { for: id }, label);
    this.input = input ?? h('input', { type: 'text', autocomplete: 'off', ...props });
    this.input.id = id;
    this.error = h('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
    this.input.setAttribute('aria-describedby', this.error.id);
    this.input.addEventListener('input', () => this.fail(''));
    this.element = h('div', { class: 'field' }, this.label, this.input, this.error);
  }

  get value() {
    return this.input.value.trim();
  }

  /** Says what is wrong; empty: nothing. */
  fail(text) {
    setText(this.error, text);
    if (text) this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
  }
}

/** Shows a refusal at the field that it names, which gets the focus; gives what else there is to say. */
export function showAtField(problem, fields) {
  const field = fields[problem.field];
  if (!field || field.element.hidden) return problem.message;
  field.fail(problem.message);
  field.input.focus();
  return '';
}
