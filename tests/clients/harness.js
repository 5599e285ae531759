/* Starts the built binary in a folder of its own, with a scripted provider behind it, and makes users for it. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before } from 'node:test';
import { promisify } from 'node:util';
import { startProvider } from './provider.js';

const START_TIMEOUT_MS = 30_000;

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
  assert.ok(process.env.FLATLINE_BIN, 'FLATLINE_BIN must name the built binary');
  const program = resolve(process.env.FLATLINE_BIN);
  const folder = await mkdtemp(join(tmpdir(), 'flatline-clients-'));
  const options = {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      FLATLINE_ADDR: '127.0.0.1:0',
      OPENAI_BASE_URL: providerUrl,
      OPENAI_API_KEY: 'test',
      ...environment,
    },
  };
  const child = spawn(program, [], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.on('data', (bytes) => (log += bytes));
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const base = await address(child);
    const command = (...words) => promisify(execFile)(program, words, options);
    return { base, newUser: () => newUser(base, command), stop };
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${log}`);
  }
}

function address(child) {
  return new Promise((found, fail) => {
    let printed = '';
    const timer = setTimeout(() => fail(new Error(`no address on standard output: ${printed}`)), START_TIMEOUT_MS);
    child.once('exit', (code) => fail(new Error(`ended with ${code} before it printed its address: ${printed}`)));
    child.stdout.on('data', (bytes) => {
      printed += bytes;
      const url = printed.match(/(http:\/\/[\d.:]+)\s/);
      if (!url) return;
      clearTimeout(timer);
      found(url[1]);
    });
  });
}

let users = 0;

async function newUser(base, command) {
  const name = `user-${++users}`;
  await command('user', 'add', name);
  const { stdout } = await command('token', 'create', name);
  const headers = { authorization: `Bearer ${stdout.trim()}` };
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

/** Waits until `holds()` is true; says `what` if it never is. */
export async function eventually(what, holds, within = 10_000) {
  const end = performance.now() + within;
  while (performance.now() < end) {
    if (await holds()) return;
    await new Promise((next) => setTimeout(next, 10));
  }
  assert.fail(`not within ${within} ms: ${what}`);
}
