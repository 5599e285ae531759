/* Chats whose approvals are the client's own, as a host of 6.x or 7.x sets them up. */

import assert from 'node:assert/strict';
import { openChat, reopenChat, seen } from './client.js';
import { eventually } from './harness.js';
import { calls } from './provider.js';

const setUp = (sdk) => ({
  body: { approvals: 'native' },
  sendAutomaticallyWhen: sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
});

/** A chat with native approvals; `openNative.again` is the same one in another tab. */
export function openNative(sdk, user, options) {
  return openChat(sdk, user, { ...setUp(sdk), ...options });
}
openNative.again = (sdk, user, chat, options) => reopenChat(sdk, user, chat, { ...setUp(sdk), ...options });

/** A new user with a check `nightly`, whose chat awaits the approval of one proposed call. */
export async function propose(sdk, here, tool = ['pause_check', { check: 'nightly' }]) {
  const user = await here.flatline.newUser();
  const check = await user.newCheck('nightly');
  const chat = openNative(sdk, user);
  here.provider.script(calls(tool));
  await chat.sendMessage({ text: 'please' });
  const [action] = await user.actions(chat);
  assert.deepEqual(awaiting(chat), [action.id]);
  return { user, check, chat, action };
}

/** The tool parts of the last message, or of another one. */
export function toolParts(chat, index = chat.messages.length - 1) {
  return chat.messages[index].parts.filter((part) => part.type.startsWith('tool-'));
}

/** The ids of the approvals that the last message asks for. */
export function awaiting(chat) {
  return toolParts(chat).filter((part) => part.state === 'approval-requested').map((part) => part.approval.id);
}

/** The request with which a stock client approves all that the last message asks for; `change` alters its messages. */
export function approvalBody(chat, change = () => {}) {
  const messages = seen(chat);
  for (const part of messages.at(-1).parts.filter((part) => part.state === 'approval-requested')) {
    part.state = 'approval-responded';
    part.approval.approved = true;
  }
  const messageId = messages.at(-1).id;
  change(messages);
  return { approvals: 'native', id: chat.id, messages, trigger: 'submit-message', messageId };
}

/** The chat is at rest after its `count`th request, and sends no other by itself. */
export async function settled(chat, count) {
  const atRest = () => chat.requests.length >= count && ['ready', 'error'].includes(chat.status);
  await eventually(`request ${count} is answered`, atRest);
  await new Promise((next) => setTimeout(next, 100));
  assert.equal(chat.requests.length, count);
  assert.ok(atRest());
}
