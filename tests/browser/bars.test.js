/* The list of checks: badges, times that run, and the bars of 30 days, asked for only in sight and a few at a time. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, checkRow, eventually, openPage, signIn, startBrowser, startFlatline } from './harness.js';

const DAY = 86_400;

let flatline;
let browser;
let owner;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
  owner = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await openPage(browser, flatline.home, { context: owner });
  await signIn(page, flatline);
  await page.close();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

async function ownerPage(prepare = async () => {}) {
  const page = await openPage(browser, flatline.home, { context: owner });
  await prepare(page);
  await page.goto(flatline.home);
  await page.locator('.check').first().waitFor();
  return page;
}

const words = (page, name) => checkRow(page, name).locator('.bars').getAttribute('aria-label');

/** 30 days that end today. */
function thirtyDays(share) {
  const today = Math.floor(Date.now() / 1000 / DAY);
  return Array.from({ length: 30 }, (_, index) => ({
    date: new Date((today - 29 + index) * DAY * 1000).toISOString().slice(0, 10),
    up_seconds: DAY,
    down_seconds: 0,
    no_data_seconds: 0,
    ...share(index),
  }));
}

test('bars tell of 30 days, to the eye and in words', async () => {
  const down = { up_seconds: DAY - 720, down_seconds: 720 };
  const blind = { up_seconds: 0, no_data_seconds: DAY };
  const cases = [
    [() => ({}), 1, 'Last 30 days: 30 days up', '100 %'],
    [(day) => (day === 7 ? down : {}), 0.999722, 'Last 30 days: 29 days up, 1 day with 12 minutes down', '99.97 %'],
    [
      (day) => (day < 2 ? blind : day === 7 ? down : {}),
      0.9999999,
      'Last 30 days: 27 days up, 1 day with 12 minutes down, 2 days without data',
      '99.99 %',
    ],
    [
      (day) => (day === 29 ? { up_seconds: DAY - 60, no_data_seconds: 60 } : { up_seconds: 0 }),
      1,
      'Last 30 days: 1 day up, 1 minute of these days without data, 29 days before the first ping',
      '100 %',
    ],
    [() => ({ up_seconds: 0 }), null, 'Last 30 days: 30 days before the first ping', ''],
  ];
  for (const [share, uptime, told, figure] of cases) {
    const days = thirtyDays(share);
    const page = await ownerPage((page) =>
      page.route('**/uptime?*', (route) => route.fulfill({ json: { days, uptime, outages: [] } })),
    );
    const row = checkRow(page, 'nightly-backup');
    await eventually(told, async () => (await words(page, 'nightly-backup')) === told);
    assert.equal(await row.locator('.uptime').textContent(), figure);
    assert.equal(await row.locator('.bars g').count(), 30);
    const seen = await row
      .locator('.bars')
      .evaluate((bars) =>
        [...bars.children].map((day) => [...day.querySelectorAll('rect')].map((rect) => rect.getAttribute('class'))),
      );
    days.forEach((day, index) => {
      assert.equal(seen[index].includes('down'), day.down_seconds > 0);
      assert.equal(seen[index].includes('blind'), day.no_data_seconds > 0);
      assert.equal(seen[index].includes('up'), day.up_seconds > 0);
    });
    // Twelve minutes of a day are less than a point; they are seen all the same.
    for (const rect of await row.locator('.bars .down').all()) assert.ok((await rect.boundingBox()).height >= 4);
    page.calm();
    await page.close();
  }
});

test('the real uptime is asked for the last 30 days of UTC, and again when the check goes down', async () => {
  const page = await ownerPage();
  const told = async () => (await words(page, 'nightly-backup')) ?? '';
  await eventually('bars', async () => /\d days? up/.test(await told()));
  assert.doesNotMatch(await told(), /down/);
  assert.equal(await checkRow(page, 'nightly-backup').locator('.bars g').count(), 30);
  const { checks } = await api(page, 'GET', '/api/checks');
  const { ping_url: url } = checks.find(({ name }) => name === 'nightly-backup');
  await fetch(`${url}/start`);
  await checkRow(page, 'nightly-backup').getByText('Running').waitFor();
  await fetch(`${url}/fail`);
  await eventually('down in the bars', async () => /1 day with \d+ seconds? down/.test(await told()), 8000);
  page.calm();
  await page.close();
});

test('of a thousand checks only those in sight are asked for, four at a time', async () => {
  let most = 0;
  let running = 0;
  const asked = [];
  const page = await ownerPage(async (page) => {
    const [sample] = (await (await owner.request.get(new URL('/api/checks', flatline.home).href)).json()).checks;
    const checks = Array.from({ length: 1000 }, (_, index) => ({
      ...sample,
      id: `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`,
      name: `check ${String(index).padStart(4, '0')}`,
      status: 'up',
      late: false,
    }));
    await page.route('**/api/checks?*', (route) => {
      const from = Number(new URL(route.request().url()).searchParams.get('before') ?? 0);
      const next = from + 100 < checks.length ? String(from + 100) : null;
      return route.fulfill({ json: { checks: checks.slice(from, from + 100), next } });
    });
    await page.route('**/uptime?*', async (route) => {
      asked.push(route.request().url().split('/').at(-2));
      most = Math.max(most, (running += 1));
      await new Promise((next) => setTimeout(next, 50));
      running -= 1;
      await route.fulfill({ json: { days: thirtyDays(() => ({})), uptime: 1, outages: [] } });
    });
  });
  await eventually('all are listed', async () => (await page.locator('.check').count()) === 1000);
  const inSight = () =>
    page
      .locator('.check')
      .evaluateAll((rows) =>
        rows
          .filter((row) => row.getBoundingClientRect().top < innerHeight && row.getBoundingClientRect().bottom > 0)
          .map((row) => row.querySelector('.bars').childElementCount),
      );
  const shown = async () => (await inSight()).every((bars) => bars === 30);
  await eventually('bars in sight', shown);
  await page.waitForTimeout(500);
  assert.ok(asked.length < 20, `${asked.length} asked for`);
  await page.locator('.checks').evaluate((list) => (list.scrollTop = list.scrollHeight));
  await eventually('bars at the end', shown);
  await page.waitForTimeout(500);
  assert.ok(asked.length < 40, `${asked.length} asked for`);
  assert.equal(new Set(asked).size, asked.length, 'none is asked for twice');
  assert.equal(most, 4);
  // The times of a thousand rows run, and cost little: rows out of sight are not laid out, and words that are still
  // true are not written again.
  const laidOut = await page
    .locator('.check h3')
    .evaluateAll((names) => names.filter((name) => name.checkVisibility({ contentVisibilityAuto: true })).length);
  assert.ok(laidOut > 0 && laidOut < 100, `${laidOut} rows are laid out`);
  const written = await page.evaluate(
    () =>
      new Promise((done) => {
        let changes = 0;
        const list = document.querySelector('.checks');
        const watch = { subtree: true, childList: true, characterData: true };
        new MutationObserver((records) => (changes += records.length)).observe(list, watch);
        setTimeout(() => done(changes), 3000);
      }),
  );
  assert.ok(written <= 1000, `${written} changes in three seconds, when each row may have had one new minute`);
  page.calm();
  await page.unrouteAll({ behavior: 'wait' });
  await page.close();
});

test('badges and times say how a check is, and run by themselves', async () => {
  const soon = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();
  const plain = { status: 'up', late: false, started: false, paused_at: null, paused_until: null, due_at: soon(3605) };
  const cases = [
    [{ due_at: soon(100) }, 'Up', /due in 1 min 3\d s/],
    [{ started: true, deadline_at: soon(605) }, 'Up', /must finish in (10|9) min/],
    [{ late: true, due_at: soon(-60), deadline_at: soon(100) }, 'Late', /down in 1 min 3\d s/],
    [{ status: 'down', due_at: soon(-4000) }, 'Down', /was due 1 h 6 min ago/],
    [{ status: 'new', due_at: null, last_ping_at: null }, 'New', /waits for its first ping[^]*no ping yet/],
    [{ paused_at: soon(-5), paused_until: soon(7205) }, 'Paused', /for another (2 h|1 h 59 min)/],
    [{ paused_at: soon(-5), status: 'down' }, 'Paused', /until resumed/],
    [
      { period_seconds: null, cron: '0 3 * * 1-5', timezone: 'Europe/Berlin' },
      'Up',
      /cron 0 3 \* \* 1-5 in Europe\/Berlin/,
    ],
  ];
  const page = await ownerPage();
  for (const [change, badge, told] of cases) {
    await page.route('**/api/checks?*', async (route) => {
      const body = await (await route.fetch()).json();
      const check = body.checks.find(({ name }) => name === 'nightly-backup');
      await route.fulfill({ json: { ...body, checks: [Object.assign(check, plain, change)] } });
    });
    await page.reload();
    const row = checkRow(page, 'nightly-backup');
    await row.waitFor();
    assert.equal(await row.locator('.chip-state').innerText(), badge);
    assert.match(await row.innerText(), told);
    assert.equal(await row.locator('.chip-running').isVisible(), Boolean(change.started));
    await page.unroute('**/api/checks?*');
    if (!change.late) continue;
    const before = await row.locator('.left').innerText();
    await page.route('**/api/checks?*', (route) => route.abort());
    await eventually('the time runs', async () => (await row.locator('.left').innerText()) !== before, 2500);
    await page.unroute('**/api/checks?*');
  }
  await page.close();
});
