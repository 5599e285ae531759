/* Pausing by hand: for an hour, until tomorrow morning, until a time of one's own, until resumed; and resuming. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, checkRow, eventually, openPage, signIn, startBrowser, startFlatline } from './harness.js';

const SEEN_WITHIN_MS = 1000; // sooner than the next poll by itself
const NAME = 'nightly-backup';
const ZONE = 'America/New_York';

let flatline;
let browser;
let page;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
  page = await openPage(browser, flatline.home, {
    viewport: { width: 1280, height: 800 },
    timezoneId: ZONE,
    locale: 'en-GB',
    expected: [422],
  });
  await signIn(page, flatline);
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

const state = () => checkRow(page, NAME).getAttribute('data-state');
const focusedLabel = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'));
const isPaused = () => eventually('paused', async () => (await state()) === 'paused', SEEN_WITHIN_MS);
const openMenu = () => page.getByRole('button', { name: new RegExp(`^(Pause|Change until when) ${NAME}`) }).click();

/** The check as the server has it. */
async function check() {
  const { checks } = await api(page, 'GET', '/api/checks');
  return checks.find(({ name }) => name === NAME);
}

/** How a time reads on a clock in the page's zone. */
function there(time) {
  return new Date(time).toLocaleString('sv-SE', { timeZone: ZONE }).slice(0, 16);
}

/** The date there in so many days. */
function inDays(days) {
  const noon = new Date(`${there(Date.now()).slice(0, 10)}T12:00:00Z`);
  return new Date(noon.getTime() + days * 86_400_000).toISOString().slice(0, 10);
}

async function resume() {
  await page.getByRole('button', { name: `Resume ${NAME}` }).click();
  await eventually('resumed', async () => (await state()) === 'up', SEEN_WITHIN_MS);
  assert.equal((await check()).paused_at, null);
}

test('for 1 hour, and resumed', async () => {
  await openMenu();
  await page.getByRole('button', { name: 'For 1 hour' }).click();
  await isPaused();
  assert.match(await checkRow(page, NAME).innerText(), /Paused[^]*for another (59 min|1 h)/);
  const { paused_until: until } = await check();
  assert.ok(Math.abs(Date.parse(until) - Date.now() - 3_600_000) < 10_000, until);
  assert.ok(!(await page.locator('.pause-menu').first().isVisible()));
  await resume();
  assert.ok(!(await page.getByRole('button', { name: `Resume ${NAME}` }).isVisible()));
  page.calm();
});

test('until tomorrow at nine, on the clock of who looks', async () => {
  await openMenu();
  await page.getByRole('button', { name: 'Until tomorrow, 9:00' }).click();
  await isPaused();
  assert.equal(there((await check()).paused_until), `${inDays(1)} 09:00`);
  await resume();
  page.calm();
});

test('until a time of one’s own, which can be moved; and until resumed', async () => {
  await openMenu();
  const field = page.getByLabel('Pause until');
  await field.fill(`${inDays(3)}T12:30`);
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  await isPaused();
  assert.equal(there((await check()).paused_until), `${inDays(3)} 12:30`);

  await openMenu();
  await page.getByRole('button', { name: 'Until resumed' }).click();
  await page.getByText('until resumed', { exact: true }).waitFor();
  assert.equal((await check()).paused_until, null);
  await resume();
  page.calm();
});

test('a time that has passed is refused with a reason, and the menu stays', async () => {
  await openMenu();
  await page.getByLabel('Pause until').fill('2020-01-01T10:00');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  const problem = page.locator('.pause-menu .problem');
  await eventually('the reason', async () => (await problem.innerText()).length > 10);
  assert.notEqual(await state(), 'paused');
  await page.getByLabel('Pause until').fill('');
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
  assert.equal(await problem.innerText(), 'Choose a day and a time.');
  await page.keyboard.press('Escape');
  assert.ok(!(await problem.isVisible()));
  page.calm();
});

test('with the keyboard alone, and the focus is never lost', async () => {
  const menu = page.getByRole('button', { name: `Pause ${NAME}` });
  await menu.focus();
  await page.keyboard.press('Enter');
  assert.equal(await menu.getAttribute('aria-expanded'), 'true');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'For 1 hour');
  await page.keyboard.press('Escape');
  assert.equal(await menu.getAttribute('aria-expanded'), 'false');
  assert.equal(await focusedLabel(), `Pause ${NAME}`);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  await isPaused();
  assert.equal(await focusedLabel(), `Change until when ${NAME} is paused`);
  await page.keyboard.press('Tab');
  assert.equal(await focusedLabel(), `Resume ${NAME}`);
  await page.keyboard.press('Enter');
  await eventually('resumed', async () => (await state()) === 'up', SEEN_WITHIN_MS);
  assert.equal(await focusedLabel(), `Pause ${NAME}`);
  page.calm();
});

test('an answer that was asked for before the pause does not undo it on the screen', async () => {
  const old = deferred();
  const asked = deferred();
  let requests = 0;
  await page.route('**/api/checks?*', async (route) => {
    const response = await route.fetch();
    if ((requests += 1) === 1) {
      asked.resolve();
      await old.promise;
    }
    await route.fulfill({ response });
  });
  await asked.promise;
  await page.evaluate((name) => {
    const row = [...document.querySelectorAll('.check')].find((row) => row.querySelector('h3').textContent === name);
    window.states = [];
    new MutationObserver(() => window.states.push(row.dataset.state)).observe(row, { attributeFilter: ['data-state'] });
  }, NAME);
  await openMenu();
  await page.getByRole('button', { name: 'Until resumed' }).click();
  await isPaused();
  old.resolve();
  await eventually('the next answer', () => requests > 2);
  const states = await page.evaluate(() => window.states);
  assert.ok(states.length > 0 && states.every((state) => state === 'paused'), states.join());
  await page.unrouteAll({ behavior: 'wait' });
  await resume();
  page.calm();
});

function deferred() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
