/* A check in words: its state, the next time that matters, its schedule. */

import { ago, inShort, inWords, secondsUntil } from './time.js';

/** What a person would call its state: `paused`, `down`, `late`, `new` or `up`. */
export function stateOf(check) {
  if (check.paused_at) return 'paused';
  return check.late && check.status !== 'down' ? 'late' : check.status;
}

/** The next time that matters for a check, or null. */
export function nextTime(check) {
  const state = stateOf(check);
  if (state === 'paused') return check.paused_until;
  return state === 'late' || (check.started && check.deadline_at) ? check.deadline_at : check.due_at;
}

/** How long until then, and what then: "due in 5 h". */
export function timeLeft(check) {
  const until = nextTime(check);
  const seconds = until ? secondsUntil(until) : Infinity;
  switch (stateOf(check)) {
    case 'paused':
      return seconds < Infinity ? `for another ${inShort(seconds)}` : 'until resumed';
    case 'new':
      return 'waits for its first ping';
    case 'down':
      return seconds < 0 ? `was due ${ago(until)}` : 'its job reported a failure';
    case 'late':
      return seconds > 0 ? `down in ${inShort(seconds)}` : 'down any moment';
    default:
      if (seconds === Infinity) return '';
      if (check.started) return seconds > 0 ? `must finish in ${inShort(seconds)}` : 'should have finished';
      return seconds > 0 ? `due in ${inShort(seconds)}` : 'due now';
  }
}

/** "every hour · grace 10 min", "cron 0 3 * * * in Europe/Berlin · grace 1 h". */
export function scheduleOf(check) {
  const when = check.cron ? `cron ${check.cron} in ${check.timezone}` : every(check.period_seconds);
  return `${when} · grace ${inShort(check.grace_seconds)}`;
}

/** "every hour", "every 5 minutes". */
export function every(seconds) {
  return `every ${inWords(seconds).replace(/^1 (\w+)$/, '$1')}`;
}

/** Names in a row: "a, b and c". Each is isolated, so that none can turn around what follows it. */
export function inARow(names) {
  const isolated = names.map((name) => `\u2068${name}\u2069`);
  return isolated.length < 2 ? isolated.join('') : `${isolated.slice(0, -1).join(', ')} and ${isolated.at(-1)}`;
}
