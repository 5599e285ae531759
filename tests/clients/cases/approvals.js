/* Proposals as tool calls that await the client's own approval (6.x and 7.x), and what an approval comes to. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { STEP, answer, assertCalm, assertStored, lastText, question, seen, text, untilText } from '../client.js';
import { eventually } from '../harness.js';
import { approvalBody, awaiting, openNative, propose, settled, toolParts } from '../native.js';
import { calls, says } from '../provider.js';

export function approvals(sdk, here) {
  test('an approval runs what was proposed, once, without the model and without a charge', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    const input = { check: 'nightly' };
    const tool = { type: 'tool-pause_check', toolCallId: toolParts(chat)[0].toolCallId, input };
    assert.deepEqual(seen(chat), [
      question(chat, 0, 'please'),
      answer(chat, 1,
        STEP,
        { ...tool, state: 'approval-requested', approval: { id: action.id } },
        { type: 'data-action', id: action.id, data: action }),
    ]);
    assert.equal(action.status, 'PENDING');
    await assertStored(user, chat);
    const [asked, before] = [here.provider.asked.length, await user.remaining()];
    const expectedBody = approvalBody(chat);

    await chat.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(chat, 2);
    assert.deepEqual(JSON.parse(chat.requests[1].body), expectedBody);
    const [done] = await user.actions(chat);
    assert.equal(done.status, 'EXECUTED');
    const { output } = toolParts(chat)[0];
    assert.deepEqual([output.status, output.number], ['EXECUTED', 1]);
    assert.deepEqual(seen(chat).at(-1), answer(chat, 1,
      STEP,
      { ...tool, state: 'output-available', output, approval: { id: action.id, approved: true } },
      { type: 'data-action', id: action.id, data: done },
      text(`${done.outcome.message} (action 1).`)));
    assert.notEqual((await user.get(`/api/checks/${check.id}`)).paused_at, null);
    assert.deepEqual([here.provider.asked.length, await user.remaining()], [asked, before]);
    await assertStored(user, chat);
    assertCalm(chat);

    here.provider.script(says('You are welcome.'));
    await chat.sendMessage({ text: 'thanks' });
    const results = here.provider.asked.at(-1).messages.filter(({ role }) => role === 'tool');
    assert.equal(JSON.parse(results[0].content).status, 'EXECUTED');
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('a denial runs nothing', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    await chat.addToolApprovalResponse({ id: action.id, approved: false });
    await settled(chat, 2);
    const [decided] = await user.actions(chat);
    assert.equal(decided.status, 'REJECTED');
    const [tool] = toolParts(chat);
    assert.deepEqual([tool.state, tool.approval.approved], ['output-denied', false]);
    assert.match(lastText(chat), /^Cancelled action 1: .*Nothing has changed\.$/);
    assert.deepEqual(await user.get(`/api/checks/${check.id}`), check);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('two approvals in one message go together, when both are given', async () => {
    const user = await here.flatline.newUser();
    for (const name of ['nightly', 'weekly']) await user.newCheck(name);
    const chat = openNative(sdk, user);
    const tools = ['nightly', 'weekly'].map((check) => ['pause_check', { check }]);
    here.provider.script(calls(['list_checks', {}], ...tools), says('There are two.'));
    await chat.sendMessage({ text: 'pause both' });
    const [first, second] = awaiting(chat);
    await chat.addToolApprovalResponse({ id: first, approved: true });
    await settled(chat, 1);
    assert.deepEqual((await user.actions(chat)).map(({ status }) => status), ['PENDING', 'PENDING']);
    await chat.addToolApprovalResponse({ id: second, approved: false });
    await settled(chat, 2);
    assert.deepEqual((await user.actions(chat)).map(({ id, status }) => [id, status]), [
      [second, 'REJECTED'],
      [first, 'EXECUTED'],
    ]);
    assert.deepEqual(toolParts(chat).map(({ state }) => state), [
      'output-available',
      'output-available',
      'output-denied',
    ]);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('after a reload the history can be approved', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    const other = await openNative.again(sdk, user, chat);
    await other.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(other, 1);
    assert.equal(toolParts(other)[0].state, 'output-available');
    assert.notEqual((await user.get(`/api/checks/${check.id}`)).paused_at, null);
    await assertStored(user, other);
    assertCalm(other);
  });

  test('a page that is opened in mid-stream gets the request too', async () => {
    const user = await here.flatline.newUser();
    await user.newCheck('nightly');
    const chat = openNative(sdk, user);
    const gate = Promise.withResolvers();
    here.provider.script(async (wire) => {
      wire.say('Well.');
      await gate.promise;
      calls(['pause_check', { check: 'nightly' }])(wire);
    });
    const sending = chat.sendMessage({ text: 'pause nightly' });
    await untilText(chat, 'Well.');
    const other = await openNative.again(sdk, user, chat);
    const resuming = other.resumeStream();
    await untilText(other, 'Well.');
    gate.resolve();
    await Promise.all([sending, resuming]);
    assert.deepEqual(seen(other).at(-1), seen(chat).at(-1));
    const [id] = awaiting(other);
    await other.addToolApprovalResponse({ id, approved: true });
    await settled(other, 2);
    assert.equal(toolParts(other)[0].state, 'output-available');
    await assertStored(user, other);
    assertCalm(other);
  });

  test('two tabs that approve at once have one effect and end alike', async () => {
    const { user, chat, check, action } = await propose(sdk, here, ['rotate_ping_key', { check: 'nightly' }]);
    const other = await openNative.again(sdk, user, chat);
    await Promise.all([chat, other].map((tab) => tab.addToolApprovalResponse({ id: action.id, approved: true })));
    await settled(chat, 2);
    await settled(other, 1);
    const rotated = await user.get(`/api/checks/${check.id}`);
    assert.equal(rotated.config_version, check.config_version + 1);
    for (const tab of [chat, other]) {
      assert.equal(toolParts(tab)[0].state, 'output-available');
      await assertStored(user, tab);
      assertCalm(tab);
    }
  });

  test('a tab that comes too late is told what was decided', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    const other = await openNative.again(sdk, user, chat);
    await chat.addToolApprovalResponse({ id: action.id, approved: false });
    await settled(chat, 2);
    await other.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(other, 1);
    assert.equal(toolParts(other)[0].state, 'output-denied');
    assert.equal(lastText(other), lastText(chat));
    assert.deepEqual(await user.get(`/api/checks/${check.id}`), check);
    assertCalm(other);
  });

  test('what the button, the typed word or the API decided is told, not done again', async () => {
    const deciders = [
      (user, chat, action) => user.call('POST', `/api/actions/${action.id}/confirm`, { digest: action.digest }),
      async (user, chat) => (await openNative.again(sdk, user, chat)).sendMessage({ text: 'confirm' }),
    ];
    for (const decide of deciders) {
      const { user, chat, check, action } = await propose(sdk, here);
      await decide(user, chat, action);
      await user.call('POST', `/api/checks/${check.id}/resume`);
      const resumed = await user.get(`/api/checks/${check.id}`);
      await chat.addToolApprovalResponse({ id: action.id, approved: true });
      await settled(chat, 2);
      assert.equal(toolParts(chat)[0].state, 'output-available');
      assert.match(lastText(chat), /^Paused nightly/);
      assert.deepEqual(await user.get(`/api/checks/${check.id}`), resumed);
      assertCalm(chat);
    }
  });

  test('an approval that comes after more talk is sent by name', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    here.provider.script(says('Take your time.'));
    await chat.sendMessage({ text: 'wait' });
    await chat.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(chat, 2);
    await chat.sendMessage();
    await settled(chat, 3);
    assert.equal(toolParts(chat, 1)[0].state, 'output-available');
    assert.equal(chat.messages.length, 4);
    assert.notEqual((await user.get(`/api/checks/${check.id}`)).paused_at, null);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('an approval of what can no longer be done says why', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    const { body: changed } = await user.call('PATCH', `/api/checks/${check.id}`, { grace_seconds: 7200 });
    await chat.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(chat, 2);
    const [failed] = await user.actions(chat);
    assert.deepEqual([failed.status, failed.outcome.code], ['FAILED', 'check_changed']);
    const [tool] = toolParts(chat);
    assert.equal(tool.state, 'output-error');
    assert.match(tool.errorText, /could not be carried out/);
    assert.deepEqual(await user.get(`/api/checks/${check.id}`), changed);
    await assertStored(user, chat);
    assertCalm(chat);
  });

  test('an approval of what a newer proposal replaced runs neither', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    here.provider.script(calls(['pause_check', { check: 'nightly' }]));
    await chat.sendMessage({ text: 'again' });
    await chat.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(chat, 2);
    await chat.sendMessage();
    await settled(chat, 3);
    assert.equal(toolParts(chat, 1)[0].state, 'output-error');
    assert.equal(toolParts(chat, 3)[0].state, 'approval-requested');
    assert.deepEqual((await user.actions(chat)).map(({ status }) => status), ['PENDING', 'SUPERSEDED']);
    assert.deepEqual(await user.get(`/api/checks/${check.id}`), check);
    assertCalm(chat);
  });
}

/** `here` lets an action wait for a second. */
export function expiry(sdk, here) {
  test('an approval that comes too late runs nothing', async () => {
    const { user, chat, check, action } = await propose(sdk, here);
    const expired = async () => (await user.actions(chat))[0].status === 'EXPIRED';
    await eventually('it expires', expired);
    await chat.addToolApprovalResponse({ id: action.id, approved: true });
    await settled(chat, 2);
    assert.equal(toolParts(chat)[0].state, 'output-error');
    assert.ok(await expired());
    assert.deepEqual(await user.get(`/api/checks/${check.id}`), check);
    assertCalm(chat);
  });
}
