/* Refusals and failures: what a stock client can tell its user, and what it and the server keep. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP, answer, assertQuiet, assertStored, openChat, question, seen, text, untilText } from '../client.js';
import { refuses, says } from '../provider.js';

/** The problem that a stock client has: the body is its error's message. */
function problemOf(chat) {
  assert.equal(chat.status, 'error');
  assert.equal(chat.errors.at(-1), chat.error);
  return JSON.parse(chat.error.message);
}

const BROKE_OFF = 'The answer broke off because of a problem on our side. What was said so far is kept.';

export function failures(sdk, here) {
  test('an answer that breaks off keeps what was said, with a sentence of ours', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(async (wire) => {
      wire.say('Half an ');
      await untilText(chat, 'Half an ');
      wire.cut();
    });
    await chat.sendMessage({ text: 'long' });
    assert.equal(chat.status, 'error');
    assert.equal(chat.error.message, BROKE_OFF);
    assert.deepEqual(chat.errors, [chat.error]);
    assert.deepEqual(seen(chat), [question(chat, 0, 'long'), answer(chat, 1, STEP, text('Half an '))]);
    await assertStored(user, chat);
    assert.equal((await user.history(chat)).at(-1).metadata.status, 'failed');

    here.provider.script(says('Whole.'));
    await chat.sendMessage({ text: 'again' });
    assert.equal(chat.status, 'ready');
    assert.deepEqual(seen(chat).slice(2), [question(chat, 2, 'again'), answer(chat, 3, STEP, text('Whole.'))]);
    await assertStored(user, chat);
    assertQuiet();
  });

  test('a provider that gives nothing is a readable problem, and leaves nothing', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(refuses(503), refuses(503), refuses(503));
    await chat.sendMessage({ text: 'hello' });
    const problem = problemOf(chat);
    assert.deepEqual([problem.status, problem.code], [502, 'model_unavailable']);
    assert.match(problem.detail, /cannot be reached.*try again/);
    assert.doesNotMatch(chat.error.message, /secret/);
    assert.deepEqual(seen(chat), [question(chat, 0, 'hello')]);
    assert.equal((await user.call('GET', `/api/chat/${chat.id}`)).status, 404);

    here.provider.script(says('Hello.'));
    await chat.regenerate();
    assert.equal(chat.status, 'ready');
    assert.deepEqual(seen(chat), [question(chat, 0, 'hello'), answer(chat, 1, STEP, text('Hello.'))]);
    await assertStored(user, chat);
    assertQuiet();
  });
}

/** `here` admits one message in ten minutes. */
export function quota(sdk, here) {
  test('a refusal for the quota tells the wait', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(says('One.'));
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    const problem = problemOf(chat);
    assert.deepEqual([problem.status, problem.code], [429, 'quota_exceeded']);
    assert.deepEqual(problem['violated-policies'], ['user-10min']);
    assert.ok(Number.isInteger(problem.retry_after_seconds), chat.error.message);
    assert.ok(problem.retry_after_seconds >= 1 && problem.retry_after_seconds <= 600, chat.error.message);
    assert.match(problem.detail, /You have sent 1 message in the last 10 minutes\. You can send the next one in /);
    if (sdk.major >= 7) assert.deepEqual([chat.error.statusCode, chat.error.responseBody], [429, chat.error.message]);
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'one'),
      answer(chat, 1, STEP, text('One.')),
      question(chat, 2, 'two'),
    ]);
    assert.equal((await user.history(chat)).length, 2);
    assertQuiet();
  });
}
