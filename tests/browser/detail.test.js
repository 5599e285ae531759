/* The details of a check: flips, pings, who was told, lines to copy; kept fresh; by mouse, keyboard and address. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, checkRow, eventually, openPage, signIn, startBrowser, startFlatline } from './harness.js';
import { HOSTILE } from './texts.js';

let flatline;
let browser;
let owner;

before(async () => {
  flatline = await startFlatline();
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
});

async function ownerPage(address = flatline.home) {
  const page = await openPage(browser, flatline.home, { context: owner });
  await page.route('**/snippets', (route) => route.fulfill({ json: { snippets: [] } }));
  await page.goto(address);
  await page.locator('.check').first().waitFor();
  return page;
}

/** A check of its own for a test. */
function makeCheck(page, name) {
  return api(page, 'POST', '/api/checks', { name, period_seconds: 3600, grace_seconds: 600 });
}

async function open(page, name, tab = null) {
  await page.getByRole('button', { name, exact: true }).click();
  const detail = checkRow(page, name).locator('.detail');
  await detail.waitFor();
  if (tab) await detail.getByRole('tab', { name: tab }).click();
  return detail;
}

/** Answers for the pings of a check as the server does, from a list with the newest first. */
async function answerPings(page, bodies) {
  const ping = { kind: 'log', accepted: false, exit_status: null, duration_seconds: null, remote: '192.0.2.1' };
  const pings = bodies.map((body, index) => ({
    ...ping,
    at: new Date(Date.now() - index * 60_000).toISOString(),
    body: body.slice(0, 10_000),
    body_length: Buffer.byteLength(body),
  }));
  await page.route('**/pings?*', (route) => {
    const asked = new URL(route.request().url()).searchParams;
    const from = asked.has('before') ? pings.findIndex(({ at }) => at === asked.get('before')) + 1 : 0;
    const shown = pings.slice(from, from + Number(asked.get('limit')));
    const next = pings.length > from + shown.length ? shown.at(-1).at : null;
    return route.fulfill({ json: { pings: shown, next } });
  });
  return (body) => {
    const at = new Date(Date.parse(pings[0].at) + 1000).toISOString();
    pings.unshift({ ...ping, at, body, body_length: body.length });
  };
}

const items = (detail) => detail.locator('[role="tabpanel"]:not([hidden]) .history > li');
const focused = (page) => page.evaluate(() => document.activeElement.textContent);

test('flips and pings show while the details are open, without a reload', async () => {
  const page = await ownerPage();
  await makeCheck(page, 'nightly-export');
  const detail = await open(page, 'nightly-export');
  await detail.getByText('It has not changed its state yet.').waitFor();
  const { checks } = await api(page, 'GET', '/api/checks');
  const { ping_url: url } = checks.find(({ name }) => name === 'nightly-export');
  const marked = await page.evaluate(() => (window.marked = true));
  await fetch(`${url}/start`);
  await fetch(url, { method: 'POST', body: 'done' });
  await eventually('first ping', async () => (await items(detail).count()) === 1);
  assert.match(await items(detail).first().innerText(), /Up[^]*the first ping came[^]*so far/);
  await fetch(`${url}/3`, { method: 'POST', body: 'disk full' });
  await eventually('down', async () => (await items(detail).count()) === 2);
  assert.match(await items(detail).first().innerText(), /Down[^]*its job ended with a failure[^]*so far/);
  assert.match(await items(detail).nth(1).innerText(), /for \d+ s(?! so far)/);

  await detail.getByRole('tab', { name: 'Pings' }).click();
  await eventually('pings', async () => (await items(detail).count()) === 3);
  assert.match(await items(detail).nth(0).innerText(), /Failure[^]*exit status 3[^]*from 127\.0\.0\.1/);
  assert.match(await items(detail).nth(1).innerText(), /Success[^]*took \d+ seconds?/);
  assert.match(await items(detail).nth(2).innerText(), /Start/);
  assert.deepEqual(await detail.locator('pre').allTextContents(), ['disk full', 'done']);

  // A note changes nothing that the list of checks tells; it shows all the same, and what was read stays where it is.
  const read = items(detail).nth(0);
  const known = await read.elementHandle();
  await fetch(`${url}/log`, { method: 'POST', body: 'cleaning up' });
  await eventually('note', async () => (await items(detail).count()) === 4, 8000);
  assert.match(await items(detail).first().innerText(), /Note[^]*cleaning up/);
  assert.ok(
    await items(detail)
      .nth(1)
      .evaluate((item, known) => item === known, known),
  );
  assert.ok(marked && (await page.evaluate(() => window.marked)));
  page.calm();
  await page.close();
});

test('a long history is read page by page, and a long body says how long it was', async () => {
  const page = await ownerPage();
  const notes = Array.from({ length: 45 }, (_, index) => `note ${45 - index}`);
  const arrive = await answerPings(page, ['x'.repeat(12_345), ...notes]);
  const detail = await open(page, 'queue-worker', 'Pings');
  const bodies = () => items(detail).locator('pre').allTextContents();
  await eventually('first page', async () => (await items(detail).count()) === 20);
  const long = items(detail).first();
  assert.match(await long.innerText(), /did not count: the check was paused[^]*the first 10,000 of 12,345 bytes/);
  assert.equal((await bodies())[0].length, 10_000);
  assert.ok(!(await long.locator('pre').isVisible()));

  const older = detail.getByRole('button', { name: 'Older' });
  await older.click();
  await eventually('second page', async () => (await items(detail).count()) === 40);
  // Something new on top leaves what was loaded below.
  arrive('newest');
  await eventually('newest', async () => (await bodies())[0] === 'newest', 8000);
  await older.click();
  await eventually('the end', async () => (await items(detail).count()) === 47);
  assert.deepEqual((await bodies()).slice(2), notes);
  assert.ok(!(await older.isVisible()));
  assert.ok(
    await items(detail)
      .nth(41)
      .evaluate((item) => item === document.activeElement),
    'the reading goes on',
  );

  // More has come than a page holds: what was loaded does not meet it any more, and the list begins anew.
  for (let number = 1; number <= 25; number += 1) arrive(`storm ${number}`);
  await eventually('anew', async () => (await bodies())[0] === 'storm 25', 8000);
  assert.equal(await items(detail).count(), 20);
  await older.click();
  await eventually('no gap', async () => (await bodies())[25] === 'newest');
  page.calm();
  await page.close();
});

test('by keyboard: open, go through the tabs, close', async () => {
  const page = await ownerPage();
  const name = page.getByRole('button', { name: 'invoice-export', exact: true });
  await name.focus();
  await page.keyboard.press('Enter');
  assert.equal(await name.getAttribute('aria-expanded'), 'true');
  const tab = page.getByRole('tab', { selected: true });
  await tab.focus();
  for (const [key, expected] of [
    ['ArrowRight', 'Pings'],
    ['ArrowRight', 'Alerts'],
    ['End', 'Set up'],
    ['ArrowRight', 'Changes'],
    ['ArrowLeft', 'Set up'],
    ['Home', 'Changes'],
    ['ArrowRight', 'Pings'],
  ]) {
    await page.keyboard.press(key);
    assert.equal(await focused(page), expected, key);
    assert.equal(await tab.innerText(), expected);
    assert.equal(await page.getByRole('tabpanel').count(), 1);
  }
  const body = page.locator('.detail pre').first();
  await body.waitFor();
  for (let presses = 0; !(await body.evaluate((pre) => pre === document.activeElement)); presses += 1) {
    assert.ok(presses < 5, 'Tab never comes to the body');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('.detail').count(), 0);
  assert.equal(await focused(page), 'invoice-export');
  assert.ok(await name.evaluate((element) => element.matches(':focus-visible')));
  page.calm();
  await page.close();
});

test('the address leads to a check, and only one is open', async () => {
  const page = await ownerPage();
  await open(page, 'queue-worker');
  await open(page, 'nightly-backup');
  assert.equal(await page.locator('.detail').count(), 1);
  const address = page.url();
  assert.match(address, /#check=[0-9a-f-]{36}$/);
  const other = await ownerPage(address);
  await checkRow(other, 'nightly-backup').locator('.detail').waitFor();
  assert.match(await other.locator('.detail').innerText(), /Dumps the database[^]*Next due[^]*, in \d+ h/);
  await other.getByRole('button', { name: 'nightly-backup', exact: true }).click();
  assert.equal(other.url(), flatline.home);
  for (const wrong of ['#check=', '#check=nope', '#check=%00<img src=x>']) {
    await other.goto(`${flatline.home}${wrong}`);
    await other.reload();
    await other.locator('.check').first().waitFor();
    assert.equal(await other.locator('.detail').count(), 0);
  }
  page.calm();
  other.calm();
  await page.close();
  await other.close();
});

test('ready-made lines are copied, and left out where the server has none', async () => {
  const page = await ownerPage();
  const lines = [
    { name: 'curl', title: 'Shell', text: 'curl -fsS -m 10 "https://ping.example/1"\n# <b>done</b>' },
    { name: 'python', title: '<i>Python</i>', text: 'import urllib.request' },
  ];
  await page.route('**/snippets', (route) => route.fulfill({ json: { snippets: lines } }));
  const detail = await open(page, 'queue-worker', 'Set up');
  const { checks } = await api(page, 'GET', '/api/checks');
  const check = checks.find(({ name }) => name === 'queue-worker');
  const blocks = detail.locator('.snippets pre');
  await eventually('all', async () => (await blocks.count()) === 4);
  const texts = [check.ping_url, check.badge_url, ...lines.map(({ text }) => text)];
  assert.deepEqual(await blocks.allTextContents(), texts);
  await detail.getByRole('button', { name: 'Copy Shell' }).click();
  await detail.getByText('Copied').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), lines[0].text);
  page.calm();
  await page.close();

  const without = await openPage(browser, flatline.home, { context: owner, expected: [404] });
  await without.route('**/snippets', (route) => route.fulfill({ status: 404, json: { code: 'not_found' } }));
  await without.goto(flatline.home);
  const bare = await open(without, 'queue-worker', 'Set up');
  assert.deepEqual(await bare.locator('.snippets pre').allTextContents(), [check.ping_url, check.badge_url]);
  assert.equal(await bare.locator('.problem:not(:empty)').count(), 0);
  without.calm();
  await without.close();
});

test('hostile names, descriptions and bodies are text', async () => {
  const page = await ownerPage();
  const title = await page.title();
  const text = '<img src=x onerror="document.title=\'owned\'"> <script>document.title="owned"</script>';
  const check = await api(page, 'POST', '/api/checks', {
    name: text.slice(0, 100),
    description: text,
    tags: ['<b>tag</b>'],
    period_seconds: 3600,
    grace_seconds: 600,
  });
  assert.ok(check.id, JSON.stringify(check));
  await answerPings(page, HOSTILE);
  const detail = await open(page, check.name.trim(), 'Pings');
  await eventually('some', async () => (await items(detail).count()) === 20);
  while (await detail.getByRole('button', { name: 'Older' }).isVisible()) {
    const before = await items(detail).count();
    await detail.getByRole('button', { name: 'Older' }).click();
    await eventually('more', async () => (await items(detail).count()) > before);
  }
  const shown = await items(detail)
    .locator('pre')
    .evaluateAll((all) => all.map((pre) => pre.textContent));
  assert.deepEqual(shown, HOSTILE);
  assert.equal(await detail.locator('.description').textContent(), text);
  const made = await page
    .locator('.check')
    .evaluateAll((rows) =>
      rows.flatMap((row) =>
        [...row.querySelectorAll('img, script, iframe, b, a, style, object')].map((e) => e.outerHTML),
      ),
    );
  assert.deepEqual(made, []);
  assert.equal(await page.title(), title);
  page.calm();
  await page.close();
});
