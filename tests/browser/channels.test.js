/* Channels: made, tried, renamed, deleted on the page; a secret that is shown once; refusals at the field they name. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { api, checkRow, eventually, openPage, signIn, startBrowser, startFlatline } from './harness.js';

let receiver; // takes what Flatline sends
const received = []; // { path, headers, body }
let flatline;
let browser;
let owner;

before(async () => {
  receiver = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    received.push({ path: request.url, headers: request.headers, body });
    response.writeHead(request.url === '/broken' ? 500 : 200).end('<b>what the receiver says</b>');
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  flatline = await startFlatline({ FLATLINE_OUTGOING_ALLOW: `127.0.0.1:${receiver.address().port}` });
  browser = await startBrowser();
  owner = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  await owner.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await openPage(browser, flatline.home, { context: owner });
  await signIn(page, flatline);
  await page.close();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
  receiver?.close();
});

/** The owner's page with the channels open, and no channel but those made here. */
async function channelsPage(expected = []) {
  const page = await openPage(browser, flatline.home, { context: owner, expected });
  await page.goto(flatline.home);
  await page.locator('.check').first().waitFor();
  for (const { id } of (await api(page, 'GET', '/api/channels')).channels) {
    await api(page, 'DELETE', `/api/channels/${id}`);
  }
  await page.getByRole('button', { name: /^Channels: / }).click();
  await page.getByText('There is none yet: nobody is told').waitFor();
  return page;
}

const target = (path) => `http://127.0.0.1:${receiver.address().port}${path}`;
const focused = (page) => page.evaluate(() => document.activeElement.textContent);
const channel = (page, name) =>
  page.locator('.channel').filter({ has: page.getByRole('heading', { name, exact: true }) });

async function fill(page, { kind, name, url, address }) {
  await page.getByRole('button', { name: 'Add a channel' }).click();
  if (kind) await page.getByLabel('Kind').selectOption(kind);
  await page.getByLabel('Name', { exact: true }).fill(name);
  if (url) await page.getByLabel('URL', { exact: true }).fill(url);
  if (address) await page.getByLabel('Address').fill(address);
  await page.getByRole('button', { name: 'Add channel' }).click();
}

test('a webhook is made, its secret is shown once, and a test message arrives', async () => {
  const page = await channelsPage();
  assert.ok(await page.getByRole('button', { name: 'Channels: none' }).isVisible());
  await fill(page, { name: 'on call', url: target('/hook') });
  const secret = page.locator('.secret');
  await secret.waitFor();
  assert.match(await secret.innerText(), /on call[^]*it will not be shown again/);
  const told = await secret.locator('code').textContent();
  assert.match(told, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.ok(await secret.evaluate((section) => section === document.activeElement));
  await secret.getByRole('button', { name: 'Copy the signing secret' }).click();
  await secret.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), told);
  await page.getByRole('button', { name: 'I have kept it' }).click();
  assert.equal(await focused(page), 'Add a channel');
  assert.equal(await page.locator(':text("whsec_")').count(), 0);
  await page.getByRole('button', { name: 'Channels: 1' }).waitFor();

  await page.getByRole('button', { name: 'Send a test to on call' }).click();
  await channel(page, 'on call').getByText('Test: sent.').waitFor();
  const [message] = received.filter(({ path }) => path === '/hook');
  assert.equal(JSON.parse(message.body).type, 'channel.test');
  assert.ok(message.headers['webhook-signature'].startsWith('v1,'));

  await page.reload();
  await page.getByRole('button', { name: 'Channels: 1' }).click();
  await channel(page, 'on call').waitFor();
  assert.ok(!(await page.content()).includes('whsec_'));
  page.calm();
  await page.close();
});

test('a test that fails says why, in our words', async () => {
  const page = await channelsPage();
  await fill(page, { kind: 'slack', name: 'chat room', url: target('/broken') });
  const row = channel(page, 'chat room');
  await row.waitFor();
  assert.equal(await page.locator('.secret').isVisible(), false);
  await page.getByRole('button', { name: 'Send a test to chat room' }).click();
  await eventually(
    'the reason',
    async () => /not sent yet: .*500/.test(await row.locator('.status').innerText()),
    8000,
  );
  assert.doesNotMatch(await row.innerText(), /receiver says/);
  page.calm();
  await page.close();
});

test('what is refused is said at its field', async () => {
  const page = await channelsPage([409, 422]);
  const error = (label) =>
    page
      .locator('.field')
      .filter({ has: page.getByLabel(label, { exact: true }) })
      .getByRole('alert');
  await fill(page, { name: 'ops', url: 'no url' });
  await eventually('at the URL', async () => (await error('URL').innerText()).length > 5);
  const url = page.getByLabel('URL', { exact: true });
  assert.equal(await url.getAttribute('aria-invalid'), 'true');
  assert.ok(await url.evaluate((input) => input === document.activeElement));
  assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('aria-invalid'), null);
  await url.fill(target('/ops'));
  assert.equal(await error('URL').innerText(), '');
  await page.getByLabel('Name', { exact: true }).fill('');
  await page.keyboard.press('Enter');
  await eventually('at the name', async () => (await error('Name').innerText()).length > 5);
  await page.getByLabel('Kind').selectOption('email');
  assert.ok(!(await url.isVisible()));
  await page.getByLabel('Name', { exact: true }).fill('mail');
  await page.getByLabel('Address').fill('ops@example.org');
  await page.keyboard.press('Enter');
  await eventually('at the kind', async () => /SMTP_URL/.test(await error('Kind').innerText()));
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await focused(page), 'Add a channel');

  await fill(page, { kind: 'slack', name: 'taken', url: target('/a') });
  await channel(page, 'taken').waitFor();
  await fill(page, { kind: 'slack', name: 'taken', url: target('/b') });
  await eventually('taken', async () => /already a channel named taken/.test(await error('Name').innerText()));
  assert.equal(await page.locator('.channel').count(), 1);
  page.calm();
  await page.close();
});

test('renamed and deleted, by keyboard, with a question in between', async () => {
  const page = await channelsPage([422]);
  await fill(page, { kind: 'slack', name: 'first name', url: target('/a') });
  await channel(page, 'first name').waitFor();
  await page.getByRole('button', { name: 'Rename first name' }).focus();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.press('Enter');
  const error = channel(page, 'first name').locator('.field-error');
  await eventually('a name is needed', async () => (await error.innerText()).length > 5);
  await page.keyboard.type('second name');
  await page.keyboard.press('Enter');
  await channel(page, 'second name').waitFor();
  assert.equal(await focused(page), 'Rename');

  const remove = page.getByRole('button', { name: 'Delete second name' });
  await remove.focus();
  await page.keyboard.press('Enter');
  assert.equal(await focused(page), 'Keep it');
  await page.keyboard.press('Escape');
  assert.equal(await focused(page), 'Delete');
  assert.equal(await page.locator('.channel').count(), 1);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await focused(page), 'Delete channel');
  await page.keyboard.press('Enter');
  await page.getByText('There is none yet').waitFor();
  assert.equal(await focused(page), 'Channels');
  assert.deepEqual((await api(page, 'GET', '/api/channels')).channels, []);
  page.calm();
  await page.close();
});

test('checks name their channels and tell who was told; what others do shows without a reload', async () => {
  const page = await channelsPage();
  await page.getByRole('button', { name: 'queue-worker', exact: true }).click();
  const detail = checkRow(page, 'queue-worker').locator('.detail');
  assert.match(await detail.innerText(), /Tells\s+nobody/);
  await api(page, 'POST', '/api/channels', { kind: 'webhook', name: 'from elsewhere', url: target('/told') });
  await channel(page, 'from elsewhere').waitFor({ timeout: 8000 });
  await eventually('named', async () => /Tells\s+\u2068from elsewhere/.test(await detail.innerText()));

  await detail.getByRole('tab', { name: 'Alerts' }).click();
  await detail.getByText('Nobody has been told anything of this check yet.').waitFor();
  const { checks } = await api(page, 'GET', '/api/checks');
  await fetch(`${checks.find(({ name }) => name === 'queue-worker').ping_url}/fail`);
  const told = detail.locator('.history > li');
  await eventually(
    'told',
    async () => /Down[^]*to from elsewhere \(webhook\)[^]*sent/.test(await told.allInnerTexts()),
    9000,
  );
  assert.equal(await told.count(), 1);

  const before = await channel(page, 'from elsewhere').elementHandle();
  await page.getByRole('button', { name: 'Send a test to from elsewhere' }).focus();
  const { channels } = await api(page, 'GET', '/api/channels');
  await api(page, 'PATCH', `/api/channels/${channels[0].id}`, { name: 'called otherwise' });
  await channel(page, 'called otherwise').waitFor({ timeout: 8000 });
  assert.ok(await before.evaluate((row) => row.contains(document.activeElement)), 'the focus stays');
  await api(page, 'DELETE', `/api/channels/${channels[0].id}`);
  await page.getByText('There is none yet').waitFor({ timeout: 8000 });
  page.calm();
  await page.close();
});

test('hostile names and targets are text, in every place that shows them', async () => {
  const page = await channelsPage();
  const title = await page.title();
  const name = '<img src=x onerror="document.title=1">\u05d0<b>"\'&amp;';
  await fill(page, { name, url: target('/<script>document.title=1</script>?q="onload=alert(1)') });
  await page.locator('.secret').waitFor();
  await page.getByRole('button', { name: 'I have kept it' }).click();
  const row = page.locator('.channel');
  assert.equal(await row.getByRole('heading').textContent(), name);
  await row.getByRole('button', { name: /^Delete/ }).click();
  assert.ok((await row.innerText()).includes(`Delete ${name}?`));
  await page.getByRole('button', { name: 'Keep it' }).click();
  await page.getByRole('button', { name: 'nightly-backup', exact: true }).click();
  const detail = page.locator('.detail');
  await eventually('named', async () => (await detail.locator('dl').textContent()).includes(name));
  await detail.getByRole('tab', { name: 'Alerts' }).click();
  const { checks } = await api(page, 'GET', '/api/checks');
  await fetch(`${checks.find((check) => check.name === 'nightly-backup').ping_url}/fail`);
  await detail.getByText('to <img src=x').waitFor();
  assert.equal(await page.locator(':is(.checks) :is(img, script, b, a, iframe)').count(), 0);
  assert.equal(await page.title(), title);
  page.calm();
  await page.close();
});
