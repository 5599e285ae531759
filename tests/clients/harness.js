/* Starts the built binary in a folder of its own, with a scripted provider behind it, and makes users for it. */

import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { startProgram } from '../program.mjs';
import { startProvider } from './provider.js';

export { eventually } from '../program.mjs';

/** `provider` and `flatline` for the tests of a file: there from its first test to its last. */
export function place(environment = {}) {
  const here = {};
  before(async () => {
    here.provider = await startProvider();
    here.flatline = await startFlatline(here.provider.url, environment);
  });
  after(async () => {
    await here.flatline?.stop();
    await here.provider?.stop();
    assert.deepEqual(here.provider?.unscripted, [], 'requests that no test expected');
    assert.equal(here.provider?.left(), 0, 'requests that a test expected in vain');
  });
  return here;
}

async function startFlatline(providerUrl, environment) {
  const settings = { OPENAI_BASE_URL: providerUrl, OPENAI_API_KEY: 'test', ...environment };
  const { base, command, stop } = await startProgram(settings);
  return { base, newUser: () => newUser(base, command), stop };
}

let users = 0;

async function newUser(base, command) {
  const name = `user-${++users}`;
  await command('user', 'add', name);
  const token = await command('token', 'create', name);
  const headers = { authorization: `Bearer ${token}` };
  const call = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(base + path, {
      method,
      headers: { ...headers, ...(sent.body && { 'content-type': 'application/json' }) },
      ...sent,
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : null };
  };
  const get = async (path) => {
    const { status, body } = await call('GET', path);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  return {
    base,
    headers,
    call,
    get,
    newCheck: async (check) => {
      const made = await call('POST', '/api/checks', { name: check, period_seconds: 3600 });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      return made.body;
    },
    remaining: async () => (await call('POST', '/api/session')).body.limits[0].remaining,
    history: async (chat) => (await get(`/api/chat/${chat.id}`)).messages,
    actions: async (chat) => (await get(`/api/actions?conversation=${chat.id}`)).actions,
  };
}
