/* The chat in a frame on another site, by the loader; and that nobody else may frame it. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { startBrowser, startFlatline } from './harness.js';

let host; // another site: `localhost`, while Flatline is 127.0.0.1
let flatline;
let closed; // a Flatline that lists nobody
let browser;

before(async () => {
  host = createServer((request, response) => {
    const flatlineAddress = new URL(request.url, 'http://localhost').searchParams.get('flatline');
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><title>Host</title><h1>A shop</h1><script src="${flatlineAddress}widget.js" defer></script>`,
    );
  });
  host.listen(0, 'localhost');
  await once(host, 'listening');
  flatline = await startFlatline({ FLATLINE_ALLOWED_ORIGINS: hostOrigin() });
  closed = await startFlatline();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
  await closed?.stop();
  host?.close();
});

const hostOrigin = () => `http://localhost:${host.address().port}`;

async function openHost(home) {
  const page = await browser.newPage();
  await page.goto(`${hostOrigin()}/?flatline=${home}`);
  return page;
}

// The browser keeps cookies and storage from a frame on another site: the session lives in a header, and in memory.
test('on a listed site the button opens the chat, and a visitor has one session in it', async () => {
  const page = await openHost(flatline.home);
  const chat = page.frameLocator('iframe[title="Flatline assistant"]');
  assert.equal(page.frames().length, 1);
  await page.getByRole('button', { name: 'Ask Flatline' }).click();
  await chat.getByRole('heading', { name: 'Assistant' }).waitFor();
  await chat.getByLabel('Message to the assistant').fill('help');
  await page.keyboard.press('Enter');
  await chat.locator('.message.assistant[aria-busy="false"] .text').waitFor();

  await page.getByRole('button', { name: 'Close' }).click();
  assert.ok(!(await page.locator('iframe').isVisible()));
  await page.evaluate(() => window.Flatline.open());
  assert.ok(await page.locator('iframe').isVisible());

  // The history is asked for with the same session: it knows what was said.
  const history = await page.frames()[1].evaluate(async () => {
    const { call, open } = await import('/assets/api.js');
    const { chats } = await call('GET', '/api/chats');
    const { messages } = await (await open('GET', `/api/chat/${chats[0].id}`)).json();
    return messages.map((message) => message.role);
  });
  assert.deepEqual(history, ['user', 'assistant']);
  await page.close();
});

test('a site that is not listed cannot frame the chat, and nobody can frame the page', async () => {
  for (const [home, path] of [
    [closed.home, 'embed'],
    [flatline.home, ''],
  ]) {
    const page = await openHost(home);
    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
    await page.evaluate((address) => {
      const frame = document.createElement('iframe');
      frame.src = address;
      document.body.append(frame);
    }, home + path);
    await refused;
    await page.close();
  }
});
