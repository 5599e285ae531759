/* A stock chat without a page, and what its user would see: messages, state, and whatever it complains of. */

import assert from 'node:assert/strict';
import { eventually } from './harness.js';

const complaints = [];
for (const kind of ['error', 'warn']) {
  console[kind] = (...words) => complaints.push(words.map(String).join(' '));
}

/**
 * A chat of `user` on its default transport. `chat.requests` are the requests that it sent, `chat.errors` what it
 * told `onError`; `options` go to the chat, `body` to the transport.
 */
export function openChat(sdk, user, { body, base = user.base, fetch = globalThis.fetch, ...options } = {}) {
  const requests = [];
  const errors = [];
  const transport = new sdk.DefaultChatTransport({
    api: `${base}/api/chat`,
    headers: user.headers,
    body,
    fetch: async (url, request) => {
      const sent = { method: request.method, url, body: request.body };
      requests.push(sent);
      const response = await fetch(url, request);
      sent.status = response.status;
      return response;
    },
  });
  const chat = new sdk.Chat({
    ...options,
    transport,
    onError: (error) => errors.push(error),
  });
  return Object.assign(chat, { requests, errors });
}

/** The chat of another tab, made from what the server tells of it. */
export async function reopenChat(sdk, user, chat, options = {}) {
  return openChat(sdk, user, { ...options, id: chat.id, messages: await user.history(chat) });
}

/** The messages as they are sent and stored: what is `undefined` is not there. */
export function seen(chat) {
  return JSON.parse(JSON.stringify(chat.messages));
}

/** The last message's text. */
export function lastText(chat) {
  const parts = chat.messages.at(-1)?.parts ?? [];
  return parts.filter((part) => part.type === 'text').map((part) => part.text).join('|');
}

/** Waits until the last message's text, its parts with `|` between them, is `text`. */
export function untilText(chat, text) {
  return eventually(`"${text}" is there; there is "${lastText(chat)}"`, () => lastText(chat) === text);
}

/** Nothing went wrong: the chat is ready, and neither it nor the console has complained. */
export function assertCalm(chat) {
  assert.deepEqual(chat.errors, []);
  assert.equal(chat.error, undefined);
  assert.equal(chat.status, 'ready');
  assertQuiet();
}

/** The console was silent. */
export function assertQuiet() {
  assert.deepEqual(complaints, []);
}

/** What the chat shows is what the server has stored. */
export async function assertStored(user, chat) {
  const stored = await user.history(chat);
  assert.deepEqual(seen(chat).map(essence), stored.map(essence));
}

/** A message without what only one side keeps: the server the state of a user's text, the client a reasoning's id. */
function essence({ id, role, parts }) {
  return { id, role, parts: parts.map((part) => (role === 'user' ? omit(part, 'state') : essencePart(part))) };
}

function essencePart(part) {
  return part.type === 'reasoning' ? omit(part, 'id') : part;
}

function omit(object, key) {
  const { [key]: _, ...rest } = object;
  return rest;
}

/** Parts and messages as the tests expect them. */
export const STEP = { type: 'step-start' };
export const text = (words) => ({ type: 'text', text: words, state: 'done' });
export const question = (chat, index, words) => ({
  id: chat.messages[index].id,
  role: 'user',
  parts: [{ type: 'text', text: words }],
});
export const answer = (chat, index, ...parts) => ({ id: chat.messages[index].id, role: 'assistant', parts });
