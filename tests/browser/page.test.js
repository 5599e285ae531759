/* The page end to end: a visitor asks, the owner signs in, confirms, cancels, types, on a desk and on a phone. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, openPage, say, signIn, startBrowser, startFlatline } from './harness.js';

const SEEN_WITHIN_MS = 2000; // a confirmed change shows in the list this soon

let flatline;
let browser;
let owner; // the signed-in context; the link works once

before(async () => {
  flatline = await startFlatline({ FLATLINE_USER_LIMIT: '100/10m' });
  browser = await startBrowser();
  owner = await browser.newContext({ viewport: { width: 1280, height: 800 } });
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

/** The owner's page with a conversation of its own. */
async function ownerPage(options = {}) {
  const page = await openPage(browser, flatline.home, { context: owner, ...options });
  await page.goto(flatline.home);
  await page.locator('.check').first().waitFor();
  await page.getByRole('button', { name: 'New chat' }).click();
  return page;
}

const row = (page, name) => page.locator('.check').filter({ has: page.getByRole('heading', { name, exact: true }) });
const stateOf = (page, name) => row(page, name).getAttribute('data-state');

/** The name of a check that is not paused. */
async function runningCheck(page) {
  const check = page.locator('.check:not([data-state="paused"]) h3').first();
  return (await check.textContent()).trim();
}

/** Asks for a change and gives the card that proposes it. */
async function propose(page, words) {
  const answer = await say(page, words);
  const card = answer.locator('.card');
  assert.equal(await card.getAttribute('data-status'), 'PENDING', words);
  return card;
}

async function cardBecomes(card, status, within) {
  await eventually(`card ${status}`, async () => (await card.getAttribute('data-status')) === status, within);
}

test('a visitor asks, gets an answer, and is told how to sign in', async () => {
  const page = await openPage(browser, flatline.home);
  await page.goto(flatline.home);
  await page.getByText('Visitor', { exact: true }).waitFor();
  assert.match(await page.locator('.about').innerText(), /flatline login-link owner/);
  assert.equal(await page.locator('.check').count(), 0);
  assert.match(await page.locator('.banner').innerText(), /offline/i);
  const answer = await say(page, 'What is Flatline?');
  assert.ok((await answer.innerText()).length > 20);
  assert.equal(await answer.locator('.card').count(), 0);

  await page.reload();
  await page.locator('.message.assistant').waitFor();
  assert.equal(await page.locator('.message.user').innerText(), 'What is Flatline?');
  page.calm();
  await page.context().close();
});

test('the owner opens the link, which works once, and sees the checks', async () => {
  const page = await openPage(browser, flatline.home, { context: owner });
  await signIn(page, flatline);
  assert.match(await page.locator('#who').innerText(), /owner/);
  for (const check of await page.locator('.check').all()) {
    assert.match(await check.locator('.chip-state').innerText(), /^(New|Up|Late|Down|Paused)$/);
    assert.match(await check.innerText(), /no ping yet|last ping/);
  }
  page.calm();
  await page.close();

  const other = await openPage(browser, flatline.home, { expected: [410] });
  const gone = other.waitForResponse((response) => response.status() === 410);
  await other.goto(flatline.signIn);
  await gone;
  await other.goto(flatline.home);
  await other.getByText('Visitor', { exact: true }).waitFor();
  other.calm();
  await other.context().close();
});

test('a tap on Confirm runs the change once, and the list shows it in time', async () => {
  const page = await ownerPage();
  const name = await runningCheck(page);
  const card = await propose(page, `pause ${name} for 2 hours`);
  assert.match(await card.innerText(), new RegExp(`${name}[^]*\\d+:\\d\\d left|left[^]*${name}`));
  assert.notEqual(await stateOf(page, name), 'paused');
  // Right after a poll, the next one by itself comes too late for this: the tap asks on its own.
  await page.waitForResponse('**/api/checks?*');
  const tapped = performance.now();
  await card.getByRole('button', { name: 'Confirm' }).click();
  await cardBecomes(card, 'EXECUTED');
  await eventually(`${name} paused`, async () => (await stateOf(page, name)) === 'paused', SEEN_WITHIN_MS);
  const took = performance.now() - tapped;
  assert.ok(took < 0.75 * SEEN_WITHIN_MS, `${took} ms`);
  assert.match(await row(page, name).innerText(), /Paused[^]*for another (1 h 59 min|2 h)/);
  assert.ok((await card.locator('.result').innerText()).length > 0);
  assert.equal(await card.getByRole('button').count(), 0);

  await page.reload();
  await page.locator('.card[data-status="EXECUTED"]').waitFor();
  page.calm();
  await page.close();
});

test('a typed confirm does the same, and every card of the action tells', async () => {
  const page = await ownerPage();
  const name = 'made-by-typing';
  const card = await propose(page, `create "${name}" every 10 minutes`);
  assert.match(await card.locator('.hint').innerText(), /or type “confirm”/);
  assert.equal(await row(page, name).count(), 0);
  const answer = await say(page, 'confirm');
  await cardBecomes(card, 'EXECUTED');
  await eventually(`${name} listed`, async () => (await row(page, name).count()) === 1, SEEN_WITHIN_MS);
  assert.equal(await answer.locator('.card').getAttribute('data-status'), 'EXECUTED');

  // Deleting wants the number: the bare word is not enough, and the card says so.
  const deletion = await propose(page, `delete ${name}`);
  assert.ok(await deletion.evaluate((element) => element.classList.contains('destructive')));
  assert.match(await deletion.locator('.hint').innerText(), /or type “confirm \d+”/);
  await say(page, 'confirm');
  assert.equal(await deletion.getAttribute('data-status'), 'PENDING');
  const [words] = /confirm \d+/.exec(await deletion.locator('.hint').innerText());
  await say(page, words);
  await cardBecomes(deletion, 'EXECUTED');
  await eventually(`${name} gone`, async () => (await row(page, name).count()) === 0, SEEN_WITHIN_MS);
  page.calm();
  await page.close();
});

test('Cancel changes nothing', async () => {
  const page = await ownerPage();
  const name = await runningCheck(page);
  const card = await propose(page, `pause ${name} for 2 hours`);
  await card.getByRole('button', { name: 'Cancel' }).click();
  await cardBecomes(card, 'REJECTED');
  assert.match(await card.innerText(), /Cancelled[^]*Nothing has changed/);
  await page.waitForTimeout(SEEN_WITHIN_MS);
  assert.notEqual(await stateOf(page, name), 'paused');
  page.calm();
  await page.close();
});

test('a decision in another tab shows, and a late tap tells what is true', async () => {
  const page = await ownerPage({ expected: [409] });
  const name = await runningCheck(page);
  const first = await propose(page, `pause ${name} for 2 hours`);
  const other = await openPage(browser, flatline.home, { context: owner });
  await other.goto(flatline.home);
  const same = other.locator('.card');
  await same.getByRole('button', { name: 'Cancel' }).click();
  await cardBecomes(same, 'REJECTED');
  await cardBecomes(first, 'REJECTED', 6000);

  // The page does not hear of it this time: the tap is refused, the card then shows why.
  await page.route('**/api/actions?*', (route) => route.abort());
  const second = await propose(page, `pause ${name} for 3 hours`);
  await other.bringToFront();
  await other.reload();
  const open = other.locator('.card[data-status="PENDING"]');
  await open.getByRole('button', { name: 'Cancel' }).click();
  await other.locator('.card[data-status="PENDING"]').waitFor({ state: 'detached' });
  await second.getByRole('button', { name: 'Confirm' }).click();
  await cardBecomes(second, 'REJECTED');
  assert.notEqual(await stateOf(page, name), 'paused');
  other.calm();
  await page.close();
  await other.close();
});

test('with the keyboard alone', async () => {
  const page = await ownerPage();
  const name = await runningCheck(page);
  await page.reload();
  await page.locator('.check').first().waitFor();
  await page.locator('.welcome, .message').first().waitFor();
  const focused = () => page.evaluate(() => document.activeElement.textContent || document.activeElement.id);
  const tabTo = async (what, key = 'Tab') => {
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press(key);
      if ((await focused()) === what) return;
    }
    assert.fail(`${key} never comes to ${what}`);
  };
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Skip to the assistant');
  await page.keyboard.press('Enter');
  await tabTo('message');
  await page.keyboard.type(`pause ${name}`);
  await page.keyboard.press('Shift+Enter');
  await page.keyboard.type('for 2 hours');
  assert.equal(await page.locator('.message.user').count(), 0);
  await page.keyboard.press('Backspace');
  await page.getByLabel('Message to the assistant').fill(`pause ${name} for 2 hours`);
  await page.keyboard.press('Enter');
  const card = page.locator('.card[data-status="PENDING"]');
  await card.waitFor();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await tabTo('Confirm', 'Shift+Tab');
  assert.ok(await page.evaluate(() => document.activeElement.matches(':focus-visible')));
  await page.keyboard.press('Enter');
  await page.locator('.card[data-status="EXECUTED"]').waitFor();
  assert.equal(await focused(), await page.locator('.card .result').innerText());
  await eventually(`${name} paused`, async () => (await stateOf(page, name)) === 'paused', SEEN_WITHIN_MS);
  page.calm();
  await page.close();
});

test('on a phone nothing hangs over the edge', async () => {
  const page = await ownerPage();
  await page.setViewportSize({ width: 360, height: 640 });
  const fits = () =>
    page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth);
  await say(page, 'help');
  const card = await propose(page, `create "${'a-very-long-name-'.repeat(5)}" every 10 minutes`);
  await card.getByRole('button', { name: 'Confirm' }).scrollIntoViewIfNeeded();
  assert.ok(await fits());
  assert.ok(!(await page.locator('.checks').isVisible()));
  await card.getByRole('button', { name: 'Cancel' }).click();
  await cardBecomes(card, 'REJECTED');
  await page.getByRole('button', { name: 'Checks', exact: true }).click();
  assert.ok(await page.locator('.checks').isVisible());
  assert.ok(!(await page.locator('.chat').isVisible()));
  assert.ok(await fits());
  page.calm();
  await page.close();
});

test('the list changes in place: a row that moves keeps the focus', async () => {
  const page = await ownerPage();
  const button = page.getByRole('button', { name: /^Copy ping URL of/ }).last();
  const id = await page.locator('.check').last().getAttribute('data-id');
  await button.focus();
  const label = await button.getAttribute('aria-label');
  await page.route('**/api/checks?*', async (route) => {
    const body = await (await route.fetch()).json();
    for (const check of body.checks) {
      const moved = check.id === id;
      Object.assign(check, { status: moved ? 'down' : 'up', late: false, paused_at: null, paused_until: null });
    }
    await route.fulfill({ json: body });
  });
  const first = page.locator('.check').first();
  await eventually('the row has moved up', async () => (await first.getAttribute('data-id')) === id);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), label);
  // What moved is drawn as what it is now, down to its children.
  const colour = (place) => first.locator(place).evaluate((element) => getComputedStyle(element).color);
  assert.equal(await colour('.left'), await first.evaluate((element) => getComputedStyle(element).borderLeftColor));
  assert.match(await page.locator('.checks > [role="status"]').textContent(), /is now down/);
  page.calm();
  await page.unrouteAll({ behavior: 'wait' });
  await page.close();
});

test('a sign-in that has ended offers a way on', async () => {
  const page = await openPage(browser, flatline.home, { expected: [401] });
  await page.context().addCookies([{ name: 'flatline_session', value: 'not-a-session', url: flatline.home }]);
  await page.goto(flatline.home);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await page.getByRole('button', { name: 'Continue as a visitor' }).click();
  await page.getByText('Visitor', { exact: true }).waitFor();
  page.calm();
  await page.context().close();
});

test('Sign out ends the session', async () => {
  const page = await ownerPage();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('Visitor', { exact: true }).waitFor();
  page.calm();
  await page.close();
});
