/* What runs out: messages, and the time to confirm. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, openPage, say, signIn, startBrowser, startFlatline } from './harness.js';

let flatline;
let browser;
let page;

before(async () => {
  flatline = await startFlatline({ FLATLINE_USER_LIMIT: '2/10m', FLATLINE_ACTION_TTL: '5s' });
  browser = await startBrowser();
  page = await openPage(browser, flatline.home, { expected: [429] });
  await signIn(page, flatline);
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

test('an action that nobody confirms expires, on the card as well', async () => {
  const name = (await page.locator('.check:not([data-state="paused"]) h3').first().textContent()).trim();
  const card = (await say(page, `pause ${name} for 2 hours`)).locator('.card');
  assert.match(await card.locator('.left').innerText(), /^0:0\d left$/);
  await eventually('expired', async () => (await card.getAttribute('data-status')) === 'EXPIRED', 20_000);
  assert.match(await card.innerText(), /Expired[^]*Nothing has changed/);
  assert.equal(await card.getByRole('button').count(), 0);
  const row = page.locator('.check').filter({ has: page.getByRole('heading', { name, exact: true }) });
  assert.notEqual(await row.getAttribute('data-state'), 'paused');
  page.calm();
});

test('at the limit the page shows the wait and counts it down', async () => {
  const field = page.getByLabel('Message to the assistant');
  const send = page.getByRole('button', { name: 'Send', exact: true });
  await say(page, 'help');
  await field.fill('one too many');
  await page.keyboard.press('Enter');
  const unsent = page.locator('.message.unsent');
  await unsent.waitFor();
  assert.match(await unsent.innerText(), /one too many[^]*Not sent\.[^]*2 messages/);

  const wait = await secondsToWait();
  assert.ok(wait > 500 && wait <= 600, `${wait} s`);
  await eventually('the wait counts down', async () => (await secondsToWait()) < wait, 3000);
  await field.fill('not yet');
  assert.ok(await send.isDisabled());
  assert.ok(await unsent.getByRole('button', { name: 'Try again' }).isDisabled());
  // A typed decision costs nothing and stays possible.
  await field.fill('cancel');
  assert.ok(await send.isEnabled());
  page.calm();
});

async function secondsToWait() {
  const told = await page.locator('.composer .note').innerText();
  const [, minutes = 0, seconds = 0] = /again in (?:(\d+) minutes?)? ?(?:(\d+) seconds?)?\./.exec(told);
  return Number(minutes) * 60 + Number(seconds);
}
