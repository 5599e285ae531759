/* The page at a phone’s width, in the dark, without motion: nothing is cut off, everything can be read. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { api, checkRow, eventually, openPage, signIn, startBrowser, startFlatline } from './harness.js';

const LEAST_CONTRAST = 4.5; // WCAG AA, of text
const LEAST_TARGET_PX = 24; // WCAG AA, of what is tapped
const LONG = 'a-very-long-name-'.repeat(5);

let flatline;
let browser;
let page;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
  page = await openPage(browser, flatline.home, { viewport: { width: 320, height: 2400 }, reducedMotion: 'reduce' });
  await page.goto(flatline.signIn);
  await page.waitForURL(flatline.home);
  await page.getByRole('button', { name: 'Checks', exact: true }).click();
  await page.locator('.check').first().waitFor();
  await page.route('**/snippets', (route) =>
    route.fulfill({ json: { snippets: [{ name: 'curl', title: 'Shell', text: `curl ${'x'.repeat(300)}` }] } }),
  );
  await api(page, 'POST', '/api/checks', {
    name: LONG,
    period_seconds: 3600,
    grace_seconds: 600,
    tags: [LONG.slice(0, 40)],
  });
  await api(page, 'POST', '/api/channels', {
    kind: 'webhook',
    name: LONG,
    url: `https://hooks.example/${'x'.repeat(200)}`,
  });
  await checkRow(page, LONG).waitFor();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

/** What reaches over the right edge, or is too small to tap. */
function misfits() {
  return page.evaluate((least) => {
    const shown = [...document.querySelectorAll('body *')].filter((element) =>
      element.checkVisibility({ contentVisibilityAuto: true }),
    );
    const told = (element) => `${element.tagName}.${element.getAttribute('class')} ${element.textContent.slice(0, 30)}`;
    // What scrolls by itself may be wider inside.
    const inside = (element) => element.parentElement?.closest('pre, .target, svg, .visually-hidden, .skip');
    const over = shown.filter(
      (element) => element.getBoundingClientRect().right > innerWidth + 0.5 && !inside(element),
    );
    const small = shown.filter((element) => {
      const { height, width } = element.getBoundingClientRect();
      return element.matches('button, input, select, summary') && (height < least || width < least);
    });
    return [...over.map((element) => `over ${told(element)}`), ...small.map((element) => `small ${told(element)}`)];
  }, LEAST_TARGET_PX);
}

/** Text whose colour is too near to that of its ground. */
function faint() {
  return page.evaluate((least) => {
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const over = (colours) => {
      for (const colour of colours) {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
      }
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) =>
      rgb
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
    const found = [];
    for (const element of document.querySelectorAll('#checks *')) {
      const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
      if (!own || !element.checkVisibility() || element.closest('svg, :disabled')) continue;
      const grounds = [];
      for (let up = element; up; up = up.parentElement) grounds.unshift(getComputedStyle(up).backgroundColor);
      const ground = light(over(grounds));
      const text = light(over([...grounds, getComputedStyle(element).color]));
      const contrast = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
      if (contrast < least)
        found.push(`${contrast.toFixed(2)} ${element.className} ${element.textContent.slice(0, 30)}`);
    }
    return found;
  }, LEAST_CONTRAST);
}

async function fine(where) {
  assert.deepEqual(await misfits(), [], where);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    assert.deepEqual(await faint(), [], `${where}, ${colorScheme}`);
  }
}

test('the list, a menu, and each tab of the details fit and can be read', async () => {
  await eventually('bars', async () => (await page.locator('.bars g').count()) >= 30);
  await fine('list');
  await page.getByRole('button', { name: `Pause ${LONG}` }).click();
  await fine('pause menu');
  await page.getByRole('button', { name: 'Until resumed' }).click();
  await eventually('paused', async () => (await checkRow(page, LONG).getAttribute('data-state')) === 'paused');
  await fine('paused');
  await page.getByRole('button', { name: 'invoice-export', exact: true }).click();
  for (const [tab, place] of [
    ['Changes', '.history li'],
    ['Pings', '.history pre'],
    ['Alerts', '.empty'],
    ['Set up', '.snippets pre'],
  ]) {
    await page.getByRole('tab', { name: tab }).click();
    await page.locator(`[role="tabpanel"]:not([hidden]) ${place}`).first().waitFor();
    await fine(tab);
  }
  page.calm();
});

test('the channels, the form, the secret and the question fit and can be read', async () => {
  await page.getByRole('button', { name: /^Channels: / }).click();
  await page.locator('.channel').waitFor();
  await fine('channels');
  await page.getByRole('button', { name: `Delete ${LONG}` }).click();
  await fine('question');
  await page.getByRole('button', { name: 'Add a channel' }).click();
  await page.getByLabel('Name', { exact: true }).fill('x');
  await fine('form');
  await page.getByLabel('URL', { exact: true }).fill('https://hooks.example/x');
  await page.getByRole('button', { name: 'Add channel' }).click();
  await page.getByRole('button', { name: 'I have kept it' }).waitFor();
  await fine('secret');
  page.calm();
});

test('nothing moves for those who asked for that', async () => {
  const name = page.getByRole('button', { name: 'queue-worker', exact: true });
  const moving = () =>
    name.evaluate((button) => {
      button.click();
      void button.offsetHeight;
      return document.getAnimations().length;
    });
  assert.equal(await moving(), 0);
  await page.emulateMedia({ reducedMotion: 'no-preference' });
  assert.ok((await moving()) > 0, 'else it would move');
  page.calm();
});
