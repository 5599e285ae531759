/* What happened to a check, one by one: a flip, a ping, a message to a channel. All that others wrote is text. */

import { h, setText } from './dom.js';
import { absolute, inShort, inWords, moment, secondsUntil } from './time.js';

const KEPT_BYTES = 10_000; // of a ping's body
const SHORT_BODY = 200; // characters that are shown without asking
const FLIPS = { up: 'Up', down: 'Down', new: 'New' };
const REASONS = {
  timeout: 'no ping came in time',
  fail: 'its job reported a failure',
  exit: 'its job ended with a failure',
  recovered: 'a ping came',
  first_ping: 'the first ping came',
};
const PINGS = { success: 'Success', fail: 'Failure', start: 'Start', log: 'Note' };
const EVENTS = {
  'check.down': 'Down',
  'check.up': 'Up again',
  'check.reminder': 'Still down',
  'channel.test': 'Test',
};

/** A change of state, why, and how long it lasted. */
export function flipView(flip) {
  const lasted = h('span', { class: 'more' });
  const element = item(flip.at, tone(flip.to), FLIPS[flip.to] ?? flip.to, REASONS[flip.reason] ?? flip.reason, lasted);
  return {
    element,
    update(_, newer) {
      if (newer) setText(lasted, `for ${inShort((Date.parse(newer.at) - Date.parse(flip.at)) / 1000)}`);
      else setText(lasted, `for ${inShort(-secondsUntil(flip.at))} so far`);
    },
  };
}

/** A ping and what came with it. */
export function pingView(ping) {
  const facts = [
    ping.exit_status !== null && `exit status ${ping.exit_status}`,
    ping.duration_seconds !== null && `took ${inWords(ping.duration_seconds)}`,
    !ping.accepted && 'did not count: the check was paused',
    `from ${ping.remote}`,
  ];
  const tones = { success: 'good', fail: 'bad' };
  const element = item(
    ping.at,
    (ping.accepted && tones[ping.kind]) || 'calm',
    PINGS[ping.kind] ?? ping.kind,
    facts.filter(Boolean).join(' · '),
  );
  if (ping.body_length > 0) element.append(body(ping));
  return { element };
}

/** Who was told, and how that went. */
export function notificationView(first) {
  const how = h('span', { class: 'more' });
  const tones = { 'check.down': 'bad', 'check.reminder': 'bad', 'check.up': 'good' };
  const channel = h('bdi', {}, first.channel.name);
  const element = item(
    first.created_at,
    tones[first.event] ?? 'calm',
    EVENTS[first.event] ?? first.event,
    h('span', {}, 'to ', channel, ` (${first.channel.kind})`),
    how,
  );
  return {
    element,
    update(delivery) {
      element.dataset.status = delivery.status;
      setText(channel, delivery.channel.name);
      setText(how, deliveryInWords(delivery));
      how.title = delivery.finished_at ? absolute(delivery.finished_at) : '';
    },
  };
}

/** "sent", "not sent: connection refused (14 attempts)", "not sent yet: HTTP 500; tried again 30 Nov, 21:20". */
export function deliveryInWords({ status, attempts, last_error: error, next_attempt_at: next }) {
  if (status === 'sent') return attempts > 1 ? `sent at attempt ${attempts}` : 'sent';
  const why = error ? `: ${error}` : '';
  if (status === 'failed') return `not sent${why} (${attempts} ${attempts === 1 ? 'attempt' : 'attempts'})`;
  return error && next ? `not sent yet${why}; tried again ${moment(next)}` : 'on its way';
}

function item(at, tone, what, ...rest) {
  return h(
    'li',
    { 'data-tone': tone, tabindex: -1 },
    h('time', { datetime: at, title: absolute(at) }, moment(at)),
    h('strong', {}, what),
    ...rest.map((part) => (typeof part === 'string' ? h('span', {}, part) : part)),
  );
}

function tone(status) {
  return { up: 'good', down: 'bad' }[status] ?? 'calm';
}

function body({ body: text, body_length: length }) {
  const bytes = (count) => `${count.toLocaleString()} ${count === 1 ? 'byte' : 'bytes'}`;
  const size = length > KEPT_BYTES ? `the first ${KEPT_BYTES.toLocaleString()} of ${bytes(length)}` : bytes(length);
  return h(
    'details',
    { open: text.length <= SHORT_BODY },
    h('summary', {}, `Body, ${size}`),
    h('pre', { tabindex: 0, dir: 'auto' }, text),
  );
}
