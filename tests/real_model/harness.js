/* Starts the built binary in a folder of its own, with the environment's model server behind it, and makes callers. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { startProgram } from '../program.mjs';

const PASSED_ON = ['OPENAI_BASE_URL', 'OPENAI_API_KEY', 'FLATLINE_MODEL', 'FLATLINE_MODEL_TIMEOUTS'];

/** A running Flatline on SQLite. `log()` is what it has logged, `metrics()` its counters, `stop()` ends it. */
export async function startFlatline(environment = {}) {
  assert.ok(process.env.OPENAI_BASE_URL, 'OPENAI_BASE_URL must name the model server');
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const passedOn = PASSED_ON.filter((name) => process.env[name]).map((name) => [name, process.env[name]]);
  const settings = { ...Object.fromEntries(passedOn), FLATLINE_METRICS_ADDR: metricsAddress, ...environment };
  const { base, command, log, stop } = await startProgram(settings);
  return {
    newUser: (name) => newUser(base, command, name),
    newVisitor: () => newVisitor(base),
    metrics: async () => parseMetrics(await (await fetch(`http://${metricsAddress}/metrics`)).text()),
    log,
    stop,
  };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Prometheus' text as `{'name{labels}': value}`. */
function parseMetrics(text) {
  const samples = text.matchAll(/^([^#\s].*) (\S+)$/gm);
  return Object.fromEntries([...samples].map(([, name, value]) => [name, Number(value)]));
}

async function newUser(base, command, name) {
  await command('user', 'add', name);
  const token = await command('token', 'create', name);
  return caller(base, { authorization: `Bearer ${token}` });
}

async function newVisitor(base) {
  const session = await caller(base, {}).post('/api/session');
  assert.equal(session.kind, 'anonymous');
  return caller(base, { 'flatline-session': session.token });
}

/** Somebody who calls the API. `get` and `post` answer a success's body; `ask` and `follow` the bare response. */
function caller(base, credential) {
  const call = (method, path, body, signal) =>
    fetch(base + path, {
      method,
      headers: { ...credential, ...(body && { 'content-type': 'application/json' }) },
      body: body && JSON.stringify(body),
      signal,
    });
  const read = async (method, path, body) => {
    const response = await call(method, path, body);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path} is answered ${response.status}: ${text}`);
    return text ? JSON.parse(text) : null;
  };
  let messages = 0;
  return {
    get: (path) => read('GET', path),
    post: (path, body) => read('POST', path, body),
    ask: (chat, text, signal) => {
      const message = { id: `question-${++messages}`, role: 'user', parts: [{ type: 'text', text }] };
      return call('POST', '/api/chat', { id: chat, message }, signal);
    },
    follow: (chat, signal) => call('GET', `/api/chat/${chat}/stream`, undefined, signal),
    remaining: async () => (await read('POST', '/api/session')).limits[0].remaining,
  };
}
