/* A turn that more than one reader follows: after a reload, in two tabs, after a lost connection. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  STEP,
  answer,
  assertCalm,
  assertQuiet,
  assertStored,
  lastText,
  openChat,
  question,
  reopenChat,
  seen,
  text,
  untilText,
} from '../client.js';
import { eventually } from '../harness.js';
import { calls, says } from '../provider.js';
import { browserFetch, startRelay } from '../relay.js';

/** A script that says `first`, and the rest when `gate` is opened. */
function heldAfter(first, rest) {
  const gate = Promise.withResolvers();
  const script = async (wire) => {
    wire.say(first);
    await gate.promise;
    wire.say(rest);
    wire.finish();
  };
  return { script, open: gate.resolve };
}

export function resumes(sdk, here) {
  test('a page that is opened in mid-stream follows to the same end', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    const held = heldAfter('The first half, ', 'the second half.');
    here.provider.script(held.script);
    const sending = chat.sendMessage({ text: 'long' });
    await untilText(chat, 'The first half, ');

    const other = await reopenChat(sdk, user, chat);
    assert.deepEqual(other.messages.map(({ id }) => id), chat.messages.map(({ id }) => id));
    assert.equal(other.messages[1].metadata.status, 'streaming');
    const resuming = other.resumeStream();
    await untilText(other, 'The first half, ');
    assert.equal(other.messages.length, 2);
    held.open();
    await Promise.all([sending, resuming]);

    assert.deepEqual(seen(chat), [
      question(chat, 0, 'long'),
      answer(chat, 1, STEP, text('The first half, the second half.')),
    ]);
    for (const tab of [chat, other]) {
      await assertStored(user, tab);
      assertCalm(tab);
    }
  });

  test('reasoning, a card and a second step are followed without a part twice', async () => {
    const user = await here.flatline.newUser();
    await user.newCheck('nightly');
    const chat = openChat(sdk, user);
    const held = heldAfter('Please ', 'confirm.');
    const proposes = (wire) => {
      wire.think('Pause it.');
      wire.say('Well. ');
      calls(['pause_check', { check: 'nightly' }])(wire);
    };
    here.provider.script(proposes, held.script);
    const sending = chat.sendMessage({ text: 'pause nightly' });
    await untilText(chat, 'Well. |Please ');

    const tabs = await Promise.all([reopenChat(sdk, user, chat), reopenChat(sdk, user, chat)]);
    const resuming = tabs.map((tab) => tab.resumeStream());
    for (const tab of tabs) await untilText(tab, 'Well. |Please ');
    held.open();
    await Promise.all([sending, ...resuming]);

    assert.deepEqual(
      seen(chat).at(-1).parts.map(({ type }) => type),
      ['step-start', 'reasoning', 'text', 'tool-pause_check', 'data-action', 'step-start', 'text'],
    );
    for (const tab of [chat, ...tabs]) {
      await assertStored(user, tab);
      assertCalm(tab);
    }
  });

  test('a second tab that speaks while the first one reads is refused, and both stay whole', async () => {
    const user = await here.flatline.newUser();
    const chat = openChat(sdk, user);
    const held = heldAfter('The first half, ', 'the second half.');
    here.provider.script(held.script, says('Now you.'));
    const sending = chat.sendMessage({ text: 'long' });
    await untilText(chat, 'The first half, ');

    const other = await reopenChat(sdk, user, chat);
    await other.sendMessage({ text: 'me too' });
    assert.equal(other.status, 'error');
    const { status, code } = JSON.parse(other.error.message);
    assert.deepEqual([status, code], [409, 'turn_in_progress']);
    held.open();
    await sending;
    assert.equal(lastText(chat), 'The first half, the second half.');
    assertCalm(chat);

    await other.regenerate();
    assert.equal(lastText(other), 'Now you.');
    assert.equal(other.status, 'ready');
    assert.deepEqual((await user.history(chat)).map(({ parts }) => parts.at(-1).text), [
      'long',
      'The first half, the second half.',
      'me too',
      'Now you.',
    ]);
    assertQuiet();
  });

  test('where nothing runs there is nothing to resume', async () => {
    const user = await here.flatline.newUser();
    const fresh = openChat(sdk, user);
    await fresh.resumeStream();
    assert.deepEqual(seen(fresh), []);
    assert.deepEqual(fresh.requests.map(({ status }) => status), [204]);
    assertCalm(fresh);

    here.provider.script(says('Done.'));
    await fresh.sendMessage({ text: 'short' });
    const other = await reopenChat(sdk, user, fresh);
    const before = seen(other);
    await other.resumeStream();
    assert.deepEqual(seen(other), before);
    assert.deepEqual(other.requests.map(({ status }) => status), [204]);
    assertCalm(other);
  });

  // In a browser, 5.x keeps what it had and appends the replay to it: there, a page must be opened again.
  const fetches = sdk.major === 5 ? { Node: fetch } : { Node: fetch, 'a browser': browserFetch };
  for (const [name, itsFetch] of Object.entries(fetches)) {
    test(`after a lost connection a page in ${name} takes the turn up again`, async () => {
      const user = await here.flatline.newUser();
      const relay = await startRelay(user.base);
      const chat = openChat(sdk, user, { base: relay.base, fetch: itsFetch });
      const held = heldAfter('The first half, ', 'the second half.');
      here.provider.script(held.script);
      const sending = chat.sendMessage({ text: 'long' });
      await untilText(chat, 'The first half, ');
      relay.cut();
      await sending;
      assert.equal(chat.status, 'error');
      assert.deepEqual(chat.errors.map(({ name }) => name), ['TypeError']);
      const resuming = chat.resumeStream();
      await eventually('it streams again', () => chat.status === 'streaming');
      held.open();
      await resuming;
      assert.equal(chat.status, 'ready');
      assert.deepEqual(seen(chat), [
        question(chat, 0, 'long'),
        answer(chat, 1, STEP, text('The first half, the second half.')),
      ]);
      await assertStored(user, chat);
      assertQuiet();
      await relay.stop();
    });
  }
}
