/* Starts the built binary in a folder of its own, a browser beside it, and watches what the pages do. */

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { startProgram } from '../program.mjs';

export { eventually } from '../program.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A running Flatline, offline assistant: `home` is the visitor's address, `signIn` the owner's one-time link. */
export async function startFlatline(environment = {}) {
  const { base, signIn, stop } = await startProgram(environment);
  return { home: new URL(base).href, signIn, stop };
}

export function startBrowser() {
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/**
 * A page in a context of its own (or in `context`). `page.calm()` asserts that nothing went wrong on it: no script
 * error, no message on the console, no violation of the policy, no request to anywhere but `home`.
 * `expected` are refusals that the test provokes: the browser logs each as a failed resource.
 */
export async function openPage(browser, home, { context, expected = [], ...options } = {}) {
  const own = context ?? (await browser.newContext(options));
  const page = await own.newPage();
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    const told = `${message.type()}: ${message.text()}`;
    const known = expected.some((status) => told.includes(`the server responded with a status of ${status}`));
    if (!known && ['error', 'warning'].includes(message.type())) wrong.push(told);
  });
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(home).origin) wrong.push(`request to ${request.url()}`);
  });
  await page.exposeFunction('reportViolation', (what) => wrong.push(`policy: ${what}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      window.reportViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  page.wrong = wrong;
  page.calm = () => assert.deepEqual(wrong, []);
  return page;
}

/** Signs the owner in with the printed link and waits for the list of checks. */
export async function signIn(page, flatline) {
  await page.goto(flatline.signIn);
  await page.waitForURL(flatline.home);
  await page.locator('.check').first().waitFor();
}

/** Calls the API as the page would; gives what it answered. */
export function api(page, method, path, body) {
  return page.evaluate(
    async ([method, path, body]) => {
      const headers = body ? { 'content-type': 'application/json' } : {};
      const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
      return response.status === 204 ? null : response.json();
    },
    [method, path, body],
  );
}

/** The row of the check with that name. */
export function checkRow(page, name) {
  return page.locator('.check').filter({ has: page.getByRole('heading', { name, exact: true }) });
}

/** Says something as a person does, and waits for the answer's end. */
export async function say(page, text) {
  const answers = page.locator('.message.assistant');
  const before = await answers.count();
  await page.getByLabel('Message to the assistant').fill(text);
  await page.keyboard.press('Enter');
  await answers.nth(before).waitFor();
  await page.locator('.message.assistant[aria-busy="true"]').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  return answers.nth(before);
}

/** The body of a UI message stream. */
export function streamOf(...chunks) {
  return [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('');
}
