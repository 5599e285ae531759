/* Flatline with a real model server behind it, whichever it is: not its words are judged, but what is made of them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startFlatline } from './harness.js';
import { chunksOf, essence, isSaid, messageOf } from './stream.js';

/** Flatline's own limit for a turn, and a little for what is around it. */
const [, TURN, UNIT] = /turn=(\d+)([sm])/.exec(process.env.FLATLINE_MODEL_TIMEOUTS) ?? [null, 180, 's'];
const TURN_MS = TURN * { s: 1_000, m: 60_000 }[UNIT] + 10_000;
/** A model may be done before it can be stopped or left; then it is asked again, this often. */
const ATTEMPTS = 3;
const LONG = 'Write a very long story about a lighthouse keeper, at least two thousand words.';

let flatline;
before(async () => {
  flatline = await startFlatline();
});
after(async () => {
  // Why the model failed stands in the log alone.
  const wrong = flatline?.log().split('\n').filter((line) => / (WARN|ERROR) /.test(line)) ?? [];
  if (wrong.length > 0) console.log(`Flatline logged:\n${wrong.join('\n')}`);
  await flatline?.stop();
});

test('a question is answered in a well-formed stream and stored as it was told', { timeout: TURN_MS }, async (t) => {
  const user = await flatline.newUser('asker');
  const usage = await usageOf(flatline);
  const answer = await told(await user.ask('plain', 'What is a heartbeat check? Answer in two sentences.', t.signal));
  t.diagnostic(`said in ${answer.deltas} deltas: ${answer.parts.map(brief).join(' | ')}`);
  assert.equal(answer.ending, 'finish');
  assert.ok(answer.parts.some(({ type }) => type === 'text' || type === 'reasoning'), 'neither text nor reasoning');
  await assertStored(user, 'plain', answer, 'complete');
  const now = await usageOf(flatline);
  const [prompt, completion] = [now.prompt - usage.prompt, now.completion - usage.completion];
  t.diagnostic(prompt + completion > 0 ? `usage: ${prompt} + ${completion} tokens` : 'usage: the server told none');
});

test('a visitor is answered', { timeout: TURN_MS }, async (t) => {
  const visitor = await flatline.newVisitor();
  const answer = await told(await visitor.ask('visit', 'How do I ping a check from cron?', t.signal));
  assert.equal(answer.ending, 'finish');
  assert.ok(answer.parts.every(({ type }) => type === 'text' || type === 'reasoning'), 'a visitor has no tools');
  await assertStored(visitor, 'visit', answer, 'complete');
});

test('tools are taken, and what they propose can be confirmed', { timeout: 3 * TURN_MS }, async (t) => {
  const user = await flatline.newUser('keeper');
  const check = await user.post('/api/checks', { name: 'backup', period_seconds: 3600 });
  // One conversation, so that the server is also sent its own calls and their results as history.
  for (const question of ['List my checks.', 'Pause the check backup.', 'Thank you. Anything else?']) {
    const answer = await told(await user.ask('tools', question, t.signal));
    t.diagnostic(`${question} ${answer.parts.map(brief).join(' | ')}`);
    assert.equal(answer.ending, 'finish');
    await assertStored(user, 'tools', answer, 'complete');
  }
  const { actions } = await user.get('/api/actions?conversation=tools');
  t.diagnostic(`proposed: ${actions.map(({ kind, title }) => `${kind} (${title})`).join(', ') || 'nothing'}`);
  const pause = actions.find(({ kind, status }) => kind === 'pause_check' && status === 'PENDING');
  assert.equal((await user.get(`/api/checks/${check.id}`)).paused_at, null, 'nothing happens before the confirmation');
  if (!pause) return;
  const confirmed = await user.post(`/api/actions/${pause.id}/confirm`, { digest: pause.digest });
  assert.deepEqual([confirmed.action.status, confirmed.replayed], ['EXECUTED', false]);
  assert.notEqual((await user.get(`/api/checks/${check.id}`)).paused_at, null);
  t.diagnostic('confirmed: the check is paused');
});

test('a stop ends the answer within a second, and one can go on', { timeout: (ATTEMPTS + 1) * TURN_MS }, async (t) => {
  const user = await flatline.newUser('stopper');
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    let stopped;
    const answer = await told(await user.ask('stopped', LONG, t.signal), (chunk, first) => {
      if (stopped || !isSaid(chunk)) return;
      stopped = { at: performance.now(), done: user.post('/api/chat/stopped/stop', { message_id: first.messageId }) };
    });
    const took = performance.now() - stopped?.at;
    await stopped?.done;
    if (answer.ending === 'finish') {
      t.diagnostic(`attempt ${attempt}: the model was done before the stop`);
      continue;
    }
    assert.equal(answer.ending, 'abort');
    assert.ok(took < 1000, `the stop took ${took} ms`);
    t.diagnostic(`stopped after ${took.toFixed()} ms with ${answer.parts.map(brief).join(' | ')}`);
    await assertStored(user, 'stopped', answer, 'interrupted');
    break;
  }
  const next = await told(await user.ask('stopped', 'In a few words: how are you?', t.signal));
  assert.equal(next.ending, 'finish');
  await assertStored(user, 'stopped', next, 'complete');
});

test('a reader that drops its connection goes on from the first chunk', { timeout: ATTEMPTS * TURN_MS }, async (t) => {
  const user = await flatline.newUser('dropper');
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = [];
    for await (const chunk of chunksOf(await opened(await user.ask('dropped', LONG, t.signal)))) {
      seen.push(chunk);
      // Leaving the loop drops the connection.
      if (isSaid(chunk)) break;
    }
    const resumed = await user.follow('dropped', t.signal);
    if (resumed.status === 204) {
      t.diagnostic(`attempt ${attempt}: the model was done before the reader was back`);
      continue;
    }
    const [before, answer] = [messageOf(seen), await told(resumed)];
    assert.equal(answer.ending, 'finish');
    assert.equal(answer.id, before.id);
    const [part, whole] = [before.parts.at(-1), answer.parts[before.parts.length - 1]];
    if (part) assert.ok(whole.type === part.type && whole.text?.startsWith(part.text), `${brief(part)} is lost`);
    t.diagnostic(`resumed: ${answer.parts.map(brief).join(' | ')}`);
    await assertStored(user, 'dropped', answer, 'complete');
    break;
  }
});

test('a model that the server does not have costs the asker nothing', { timeout: TURN_MS }, async (t) => {
  const other = await startFlatline({ FLATLINE_MODEL: 'no-such-model' });
  try {
    const user = await other.newUser('asker');
    const remaining = await user.remaining();
    const response = await user.ask('unknown', 'In a few words: how are you?', t.signal);
    if (response.status === 200) {
      await told(response);
      t.diagnostic('the server takes any model name');
      return;
    }
    const { code } = await response.json();
    assert.deepEqual([response.status, code], [502, 'model_unavailable']);
    assert.equal(await user.remaining(), remaining);
    t.diagnostic('the server refuses an unknown model: 502');
  } finally {
    await other.stop();
  }
});

/** The response, if the turn has begun. */
async function opened(response) {
  if (response.status === 200) return response;
  const slow = response.status === 504 ? ' (a slow model needs FLATLINE_MODEL_TIMEOUTS=first=120s)' : '';
  assert.fail(`answered ${response.status}${slow}: ${await response.text()}`);
}

/** Reads a stream to its end: the message it makes. `watch` is shown each chunk, and the first one beside it. */
async function told(response, watch = () => {}) {
  const chunks = [];
  for await (const chunk of chunksOf(await opened(response))) {
    chunks.push(chunk);
    watch(chunk, chunks[0]);
  }
  return { ...messageOf(chunks), deltas: chunks.filter(isSaid).length };
}

/** The history ends with what was told. */
async function assertStored(caller, chat, answer, status) {
  const { messages } = await caller.get(`/api/chat/${chat}`);
  const last = messages.at(-1);
  assert.deepEqual([last.role, last.metadata.status], ['assistant', status]);
  assert.deepEqual(essence(last), { id: answer.id, parts: answer.parts });
}

async function usageOf(place) {
  const metrics = await place.metrics();
  const of = (direction) => metrics[`flatline_model_tokens_total{direction="${direction}"}`] ?? 0;
  return { prompt: of('prompt'), completion: of('completion') };
}

function brief({ type, text, input, id }) {
  return text === undefined ? `${type} ${JSON.stringify(input ?? id)}` : `${type} of ${text.length} characters`;
}
