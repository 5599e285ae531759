/* An answer that is asked for again takes the old one's place, here and on the server. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP, answer, assertCalm, assertQuiet, assertStored, openChat, question, seen, text } from '../client.js';
import { calls, says } from '../provider.js';

export function regenerates(sdk, here) {
  test('a new answer replaces the old one', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(says('First.'), says('Old.'), says('New.'));
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    const before = seen(chat);
    await chat.regenerate();
    assert.deepEqual(seen(chat), [...before.slice(0, 3), answer(chat, 3, STEP, text('New.'))]);
    assert.notEqual(chat.messages[3].id, before[3].id);
    await assertStored(user, chat);
    const asked = here.provider.asked.at(-1).messages.filter(({ role }) => role !== 'system');
    assert.deepEqual(asked.map(({ content }) => content), ['one', 'First.', 'two']);
    assertCalm(chat);
  });

  test('a proposal of the old answer is not made twice', async () => {
    const user = await here.flatline.newUser();
    await user.newCheck('nightly');
    const chat = openChat(sdk, user);
    const proposes = calls(['pause_check', { check: 'nightly' }]);
    here.provider.script(proposes, says('Confirm it.'), says('Just words.'));
    await chat.sendMessage({ text: 'pause nightly' });
    const [proposed] = await user.actions(chat);
    await chat.regenerate({ messageId: chat.messages[1].id });
    assert.deepEqual(await user.actions(chat), [proposed]);
    assert.deepEqual(seen(chat), [question(chat, 0, 'pause nightly'), answer(chat, 1, STEP, text('Just words.'))]);
    // It is still open, so whoever opens the page finds its card on the last answer.
    const [, stored] = await user.history(chat);
    const card = { type: 'data-action', id: proposed.id, data: proposed };
    assert.deepEqual(stored.parts, [STEP, text('Just words.'), card]);
    assertCalm(chat);
  });

  test('only the last answer is given anew, and an edited message is told so', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    here.provider.script(says('First.'), says('Second.'));
    await chat.sendMessage({ text: 'one' });
    await chat.sendMessage({ text: 'two' });
    const [asked, stored] = [here.provider.asked.length, await user.history(chat)];
    const refusals = {
      messageId: () => chat.regenerate({ messageId: chat.messages[1].id }),
      'message.id': () => chat.sendMessage({ text: 'one edited', messageId: chat.messages[0].id }),
    };
    for (const [field, refused] of Object.entries(refusals)) {
      await refused();
      assert.equal(chat.status, 'error');
      const problem = JSON.parse(chat.error.message);
      assert.deepEqual([problem.code, problem.field], ['invalid_message', field]);
    }
    assert.equal(here.provider.asked.length, asked);
    assert.deepEqual(await user.history(chat), stored);
    assertQuiet();
  });
}
