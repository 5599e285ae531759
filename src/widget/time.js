/* Time as the server counts it, and durations in words. */

let offset = 0;
const listeners = new Set();
setInterval(() => listeners.forEach((listener) => listener()), 1000);

/** Calls `listener` each second; gives the function that ends it. */
export function everySecond(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Learns the server's clock from a `Date` header. It has whole seconds, so a smaller difference means nothing. */
export function learnServerTime(date) {
  const difference = Date.parse(date) + 500 - Date.now();
  if (Number.isFinite(difference)) offset = Math.abs(difference) > 1500 ? difference : 0;
}

/** Milliseconds since 1970 on the server's clock. */
export function serverNow() {
  return Date.now() + offset;
}

/** Seconds from now until an RFC 3339 time; negative when it has passed. */
export function secondsUntil(time) {
  return (Date.parse(time) - serverNow()) / 1000;
}

const UNITS = [
  ['day', 86400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** "2 hours 5 minutes": the two largest units, whole. */
export function inWords(seconds) {
  let rest = Math.max(0, Math.round(seconds));
  const words = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) words.push(`${count} ${unit}${count === 1 ? '' : 's'}`);
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.join(' ') || '0 seconds';
}

const SHORT = { day: 'd', hour: 'h', minute: 'min', second: 's' };

/** "2 h 5 min": the same for tight places; from two minutes on whole minutes, which is calmer to look at. */
export function inShort(seconds) {
  const told = seconds < 120 ? seconds : seconds - (seconds % 60);
  return inWords(told).replace(/(day|hour|minute|second)s?/g, (_, unit) => SHORT[unit]);
}

/** "14:32", or "1:02:09" beyond an hour. */
export function clock(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  const two = (number) => String(number).padStart(2, '0');
  const hours = Math.floor(left / 3600);
  const minutes = Math.floor(left / 60) % 60;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
}

/** "12 s ago"; a time a moment ahead of our clock is "just now". */
export function ago(time) {
  const seconds = -secondsUntil(time);
  return seconds < 2 ? 'just now' : `${inShort(seconds)} ago`;
}

// Made once: to make one takes far longer than to use it.
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' });
const SHORT_MOMENT = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' };
const OF_THIS_YEAR = new Intl.DateTimeFormat(undefined, SHORT_MOMENT);
const OF_ANOTHER_YEAR = new Intl.DateTimeFormat(undefined, { ...SHORT_MOMENT, year: 'numeric' });

/** A time in full, in the reader's zone. */
export function absolute(time) {
  return FULL.format(new Date(time));
}

/** A time in short, in the reader's zone: "30 Nov, 21:16"; with its year where that is another one. */
export function moment(time) {
  const date = new Date(time);
  const format = date.getFullYear() === new Date(serverNow()).getFullYear() ? OF_THIS_YEAR : OF_ANOTHER_YEAR;
  return format.format(date);
}
