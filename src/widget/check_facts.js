/* The settings and times of one check, as names and values. */

import { every, inARow, stateOf } from './check_words.js';
import { h, setText } from './dom.js';
import { absolute, ago, inShort, inWords, moment, secondsUntil } from './time.js';

export class CheckFacts {
  #values = new Map(); // name → { row, value }

  /** `channels` tells the names of the account's channels: `names(ids)`. */
  constructor(channels) {
    this.channels = channels;
    this.description = h('p', { class: 'description', dir: 'auto' });
    this.list = h('dl');
    this.element = h('div', { class: 'check-facts' }, this.description, this.list);
  }

  /** Called each second, too: times are told as seen from now. */
  update(check) {
    setText(this.description, check.description ?? '');
    for (const [name, text, title, alarming] of this.#facts(check)) {
      const { row, value } = this.#value(name);
      row.hidden = !text;
      setText(value, text || '');
      value.title = title ?? '';
      value.classList.toggle('alarming', Boolean(alarming));
    }
  }

  #value(name) {
    if (!this.#values.has(name)) {
      const value = h('dd', { dir: 'auto' });
      const row = h('div', {}, h('dt', {}, name), value);
      this.list.append(row);
      this.#values.set(name, { row, value });
    }
    return this.#values.get(name);
  }

  // In the order in which they stand. One without a value keeps its place, out of sight.
  #facts(check) {
    const paused = stateOf(check) === 'paused';
    const told = this.channels.names(check.channels);
    return [
      ['Paused', paused && pause(check)],
      ['Next due', !paused && soon(check.due_at), full(check.due_at)],
      ['Goes down', !paused && check.status !== 'down' && soon(check.deadline_at), full(check.deadline_at)],
      ['Last ping', past(check.last_ping_at), full(check.last_ping_at)],
      ['Last start', past(check.last_start_at), full(check.last_start_at)],
      ['Schedule', check.cron ? `${check.cron} in ${check.timezone}` : every(check.period_seconds)],
      ['Grace', inWords(check.grace_seconds)],
      ['Longest run', check.max_runtime_seconds && inWords(check.max_runtime_seconds)],
      ['Down after', check.alert_after_failures > 1 && `${check.alert_after_failures} failures in a row`],
      ['Tells', told && (told.length > 0 ? inARow(told) : 'nobody'), '', told?.length === 0],
      ['Reminds', check.reminder_seconds && `${every(check.reminder_seconds)} while it is down`],
      ['Made', moment(check.created_at), full(check.created_at)],
    ];
  }
}

function pause({ paused_at: since, paused_until: until }) {
  return until
    ? `until ${moment(until)}, for another ${inShort(secondsUntil(until))}`
    : `since ${moment(since)}, until it is resumed`;
}

function soon(time) {
  if (!time) return null;
  const seconds = secondsUntil(time);
  return `${moment(time)}, ${seconds > 0 ? `in ${inShort(seconds)}` : ago(time)}`;
}

function past(time) {
  return time && `${moment(time)}, ${ago(time)}`;
}

function full(time) {
  return time ? absolute(time) : '';
}
