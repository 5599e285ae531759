/* Answers: words that grow, reasoning, a tool's card, and the typed word that confirms it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP, answer, assertCalm, assertStored, openChat, question, seen, text, untilText } from '../client.js';
import { eventually } from '../harness.js';
import { calls, says } from '../provider.js';

export function answers(sdk, here) {
  test('a plain answer grows word by word', async () => {
    const chat = openChat(sdk, await here.flatline.newUser());
    const gates = [Promise.withResolvers(), Promise.withResolvers(), Promise.withResolvers()];
    here.provider.script(async (wire) => {
      await gates[0].promise;
      wire.say('One, ');
      await gates[1].promise;
      wire.say('two, ');
      await gates[2].promise;
      wire.say('drei — ドライ.');
      wire.finish();
    });
    const sending = chat.sendMessage({ text: 'count' });
    await eventually('sent', () => chat.status === 'submitted');
    gates[0].resolve();
    await untilText(chat, 'One, ');
    assert.equal(chat.status, 'streaming');
    gates[1].resolve();
    await untilText(chat, 'One, two, ');
    gates[2].resolve();
    await sending;
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'count'),
      answer(chat, 1, STEP, text('One, two, drei — ドライ.')),
    ]);
    assertCalm(chat);
  });

  test('a second question gets its own answer; the server has what the chat shows', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(says('First.'), says('Second.'));
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'one'),
      answer(chat, 1, STEP, text('First.')),
      question(chat, 2, 'two'),
      answer(chat, 3, STEP, text('Second.')),
    ]);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('reasoning is a part of its own', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script((wire) => {
      wire.think('Hm, ');
      wire.think('well.');
      wire.say('Yes.');
      wire.finish();
    });
    await chat.sendMessage({ text: 'really?' });
    const reasoning = { type: 'reasoning', id: 'reasoning-1', text: 'Hm, well.', state: 'done' };
    assert.deepEqual(seen(chat), [question(chat, 0, 'really?'), answer(chat, 1, STEP, reasoning, text('Yes.'))]);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('a tool that reads answers with its output', async () => {
    const user = await here.flatline.newUser();
    const check = await user.newCheck('nightly');
    const chat = openChat(sdk, user);
    here.provider.script(calls(['get_check', { check: 'nightly' }]), says('It is new.'));
    await chat.sendMessage({ text: 'how is nightly?' });
    const [, tool] = chat.messages[1].parts;
    assert.equal(tool.output.check.id, check.id);
    const call = { type: 'tool-get_check', toolCallId: tool.toolCallId, state: 'output-available' };
    assert.deepEqual(seen(chat).at(-1), answer(chat, 1,
      STEP,
      { ...call, input: { check: 'nightly' }, output: tool.output },
      STEP,
      text('It is new.')));
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('a proposal is a card, and the typed word confirms it', async () => {
    const user = await here.flatline.newUser();
    const check = await user.newCheck('nightly');
    const chat = openChat(sdk, user);
    here.provider.script(calls(['pause_check', { check: 'nightly' }]), says('Confirm it.'));
    await chat.sendMessage({ text: 'pause nightly' });

    const [action] = await user.actions(chat);
    assert.equal(action.status, 'PENDING');
    const output = {
      status: 'PENDING',
      number: 1,
      title: action.title,
      summary: action.summary,
      changes: action.changes,
      note: 'Nothing has changed yet. The user must confirm.',
    };
    const { toolCallId } = chat.messages[1].parts[1];
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'pause nightly'),
      answer(chat, 1,
        STEP,
        { type: 'tool-pause_check', toolCallId, state: 'output-available', input: { check: 'nightly' }, output },
        { type: 'data-action', id: action.id, data: action },
        STEP,
        text('Confirm it.')),
    ]);
    await assertStored(user, chat);
    assert.equal((await user.get(`/api/checks/${check.id}`)).paused_at, null);

    const asked = here.provider.asked.length;
    await chat.sendMessage({ text: 'confirm' });
    const [done] = await user.actions(chat);
    assert.deepEqual([done.status, done.decided_via], ['EXECUTED', 'typed']);
    assert.deepEqual(seen(chat).slice(2), [
      question(chat, 2, 'confirm'),
      answer(chat, 3,
        STEP,
        text(`${done.outcome.message} (action 1).`),
        { type: 'data-action', id: action.id, data: done }),
    ]);
    assert.notEqual((await user.get(`/api/checks/${check.id}`)).paused_at, null);
    assert.equal(here.provider.asked.length, asked);
    assertCalm(chat);
  });
}
