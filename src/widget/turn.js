/* One turn as the browser sees it: from the request to the last chunk, across broken connections. */

import { open } from './api.js';
import { readChunks } from './stream.js';

/** The zone of the person's clock: the assistant tells and reads times in it. */
const TIMEZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const RECONNECT_AFTER_MS = [300, 1000, 2000, 4000, 8000];

/**
 * Sends a user message. Throws a `Problem` if it was refused; then nothing has changed.
 * `watcher` has `accepted(response)`, `chunk(chunk)`, `broken()`.
 * Resolves true at the stream's proper end, false when only the history can tell how the turn ended.
 */
export async function sendMessage(conversation, message, watcher, signal) {
  const response = await open('POST', '/api/chat', { id: conversation, message, timezone: TIMEZONE }, signal);
  watcher.accepted(response);
  return follow(conversation, response, watcher, signal);
}

/** Follows the turn that is running in a conversation, from its first chunk; null when none is. */
export async function resumeTurn(conversation, watcher, signal) {
  const response = await open('GET', streamPath(conversation), undefined, signal);
  return response.status === 204 ? null : follow(conversation, response, watcher, signal);
}

// The turn goes on without a reader, so a broken connection is taken up again: the stream starts over at its `start`.
async function follow(conversation, first, watcher, signal) {
  let response = first;
  for (let attempt = 0; ; attempt += 1) {
    if (response && (await readChunks(response, (chunk) => watcher.chunk(chunk)))) return true;
    if (attempt === RECONNECT_AFTER_MS.length) return false;
    watcher.broken();
    await pause(RECONNECT_AFTER_MS[attempt], signal);
    response = await reopen(conversation, signal);
    if (response?.status === 204) return false;
  }
}

async function reopen(conversation, signal) {
  try {
    return await open('GET', streamPath(conversation), undefined, signal);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return null;
  }
}

function streamPath(conversation) {
  return `/api/chat/${encodeURIComponent(conversation)}/stream`;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
