/* Starts the built binary in a folder of its own, for the tests that speak to it from Node. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const START_TIMEOUT_MS = 30_000;

/**
 * A running Flatline on SQLite with these settings and no others. `base` is its address without a slash at the end,
 * `signIn` the owner's one-time link, `command(...words)` another run of the program that gives what it printed,
 * `log()` what was logged so far, and `stop()` ends it and removes its folder.
 */
export async function startProgram(settings) {
  assert.ok(process.env.FLATLINE_BIN, 'FLATLINE_BIN must name the built binary');
  const program = resolve(process.env.FLATLINE_BIN);
  const folder = await mkdtemp(join(tmpdir(), 'flatline-'));
  const options = { cwd: folder, env: { PATH: process.env.PATH, FLATLINE_ADDR: '127.0.0.1:0', ...settings } };
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
    const [base, signIn] = await addresses(child);
    const command = async (...words) => (await promisify(execFile)(program, words, options)).stdout.trim();
    return { base: base.replace(/\/$/, ''), signIn, command, log: () => log, stop };
  } catch (error) {
    await stop();
    throw new Error(`${error.message}\n${log}`);
  }
}

function addresses(child) {
  return new Promise((found, fail) => {
    let printed = '';
    const timer = setTimeout(
      () => fail(new Error(`no two addresses on standard output: ${printed}`)),
      START_TIMEOUT_MS,
    );
    child.once('exit', (code) => fail(new Error(`ended with ${code} before it printed two addresses: ${printed}`)));
    child.stdout.on('data', (bytes) => {
      printed += bytes;
      const urls = printed.slice(0, printed.lastIndexOf('\n') + 1).match(/http:\/\/[^\s]+/g) ?? [];
      if (urls.length < 2) return;
      clearTimeout(timer);
      found(urls);
    });
  });
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
