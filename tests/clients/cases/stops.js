/* Stops: by closing the connection, as a stock client does, and by asking the server. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP, answer, assertCalm, assertStored, openChat, question, seen, text, untilText } from '../client.js';
import { eventually } from '../harness.js';
import { says } from '../provider.js';

/** A script that says one word and then nothing more; `wire` is there once it runs. */
function stuck() {
  const script = async (wire) => {
    script.wire = wire;
    wire.say('Half');
  };
  return script;
}

export function stops(sdk, here) {
  test('after a stop in mid-stream the next message is answered at once', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    const rounds = 3;
    for (let round = 0; round < rounds; round++) {
      const script = stuck();
      here.provider.script(script, says('Whole.'));
      const sending = chat.sendMessage({ text: `long ${round}` });
      await untilText(chat, 'Half');
      await chat.stop();
      await sending;
      assert.equal(chat.status, 'ready');
      await chat.sendMessage({ text: `short ${round}` });
      assert.deepEqual(seen(chat).slice(round * 4), [
        question(chat, round * 4, `long ${round}`),
        answer(chat, round * 4 + 1, STEP, { type: 'text', text: 'Half', state: 'streaming' }),
        question(chat, round * 4 + 2, `short ${round}`),
        answer(chat, round * 4 + 3, STEP, text('Whole.')),
      ]);
      await script.wire.closed;
      assertCalm(chat);
    }
    const stored = (await user.history(chat)).filter((message) => message.role === 'assistant');
    assert.deepEqual(
      stored.map(({ parts, metadata }) => [parts.at(-1).text, metadata.status]),
      Array(rounds).fill([['Half', 'interrupted'], ['Whole.', 'complete']]).flat(),
    );
    assert.deepEqual(chat.requests.map(({ status }) => status), Array(rounds * 2).fill(200));
  });

  test('a stop before the first word; the next message is answered at once', async () => {
    const chat = openChat(sdk, await here.flatline.newUser());
    let asked;
    here.provider.script((wire) => (asked = wire), says('Whole.'));
    const sending = chat.sendMessage({ text: 'long' });
    await eventually('the model is asked', () => asked);
    await chat.stop();
    await sending;
    await chat.sendMessage({ text: 'short' });
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'long'),
      question(chat, 1, 'short'),
      answer(chat, 2, STEP, text('Whole.')),
    ]);
    await asked.closed;
    assertCalm(chat);
  });

  test('a stop that the server is asked for ends the message in every tab', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    const script = stuck();
    here.provider.script(script, says('Whole.'));
    const sending = chat.sendMessage({ text: 'long' });
    await untilText(chat, 'Half');
    const { status } = await user.call('POST', `/api/chat/${chat.id}/stop`);
    assert.equal(status, 204);
    await sending;
    await script.wire.closed;
    assert.deepEqual(seen(chat), [question(chat, 0, 'long'), answer(chat, 1, STEP, text('Half'))]);
    await assertStored(user, chat);
    const [, stored] = await user.history(chat);
    assert.equal(stored.metadata.status, 'interrupted');
    await chat.sendMessage({ text: 'short' });
    assert.deepEqual(seen(chat).at(-1), answer(chat, 3, STEP, text('Whole.')));
    assertCalm(chat);
  });
}
