/* The last 30 days of a check as bars, one a day (UTC), and the same in words. */

import { h, setText, svg } from './dom.js';
import { inWords } from './time.js';

/** Days that are shown. */
export const DAYS = 30;

// In units of the picture, which is stretched to its place.
const STEP = 10;
const WIDTH = 7;
const HEIGHT = 24;
const LEAST = 5; // a minute of a day must be seen
const STUB = 5;

/** The bars and the uptime beside them; empty until `update`. */
export class Bars {
  #shown = null;

  constructor() {
    this.picture = svg('svg', {
      class: 'bars',
      viewBox: `0 0 ${DAYS * STEP - (STEP - WIDTH)} ${HEIGHT}`,
      preserveAspectRatio: 'none',
      role: 'img',
      'aria-label': 'The last 30 days are not known yet',
    });
    this.figure = h('span', { class: 'uptime' });
    this.element = h('div', { class: 'days' }, this.picture, this.figure);
  }

  /** Shows what `GET /api/checks/{id}/uptime` told. */
  update({ days, uptime }) {
    const shown = JSON.stringify([days, uptime]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const last = days.slice(-DAYS);
    const first = DAYS - last.length;
    this.picture.replaceChildren(...last.map((day, index) => bar(day, (first + index) * STEP)));
    const figure = uptime === null ? '' : percent(uptime);
    this.picture.setAttribute('aria-label', `Last 30 days: ${daysInWords(last)}`);
    setText(this.figure, figure);
    this.figure.title = figure && `Up for ${figure} of the time that is known of the last 30 days`;
  }
}

/** "28 days up, 1 day with 12 minutes down, 1 day without data". */
export function daysInWords(days) {
  const [down, up, blind, before] = ['down', 'up', 'blind', 'before'].map((kind) =>
    days.filter((day) => kindOf(day) === kind),
  );
  const gaps = sum([...down, ...up], 'no_data_seconds');
  const parts = [
    up.length > 0 && `${count(up)} up`,
    down.length > 0 && `${count(down)} with ${inWords(sum(down, 'down_seconds'))} down`,
    gaps > 0 && `${inWords(gaps)} of these days without data`,
    blind.length > 0 && `${count(blind)} without data`,
    before.length > 0 && `${count(before)} before the first ping`,
  ];
  return parts.filter(Boolean).join(', ') || 'nothing is known yet';
}

// Never rounded up: what was down for a moment was not up for 100 %.
function percent(share) {
  const digits = share === 1 ? 0 : 2;
  return `${(Math.floor(share * 10_000) / 100).toLocaleString(undefined, { minimumFractionDigits: digits })} %`;
}

function kindOf(day) {
  if (day.down_seconds > 0) return 'down';
  if (day.up_seconds > 0) return 'up';
  return day.no_data_seconds > 0 ? 'blind' : 'before';
}

function count(days) {
  return `${days.length} ${days.length === 1 ? 'day' : 'days'}`;
}

function sum(days, key) {
  return days.reduce((seconds, day) => seconds + day[key], 0);
}

/** A day: down stands at the foot, no data at the head, and the known rest is up. Before the first ping: a stub. */
function bar(day, x) {
  const known = day.up_seconds + day.down_seconds + day.no_data_seconds;
  const part = (seconds) => (seconds > 0 ? Math.max(LEAST, (seconds / known) * HEIGHT) : 0);
  const blind = Math.min(part(day.no_data_seconds), HEIGHT - part(day.down_seconds));
  const down = part(day.down_seconds);
  const piece = (kind, y, height) =>
    height > 0 ? svg('rect', { class: kind, x, y, width: WIDTH, height, rx: 1.5 }) : null;
  const pieces =
    known === 0
      ? [piece('before', HEIGHT - STUB, STUB)]
      : [piece('blind', 0, blind), piece('up', blind, HEIGHT - blind - down), piece('down', HEIGHT - down, down)];
  return svg('g', {}, svg('title', {}, dayInWords(day)), ...pieces);
}

function dayInWords(day) {
  const told = [
    day.down_seconds > 0 && `${inWords(day.down_seconds)} down`,
    day.no_data_seconds > 0 && `${inWords(day.no_data_seconds)} without data`,
  ].filter(Boolean);
  if (told.length === 0) told.push(day.up_seconds > 0 ? 'up' : 'before the first ping');
  return `${day.date} (UTC): ${told.join(', ')}`;
}
