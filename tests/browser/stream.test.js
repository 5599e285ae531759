/* The stream's reader and what it builds: frames cut anywhere, streams that begin again. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPage, startBrowser, startFlatline } from './harness.js';

let flatline;
let browser;
let page;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
  page = await openPage(browser, flatline.home);
  await page.goto(flatline.home);
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

test('frames are read as server-sent events, cut anywhere', async () => {
  const cases = [
    ['data: a\n\ndata: b\n\n', ['a', 'b']],
    ['data:a\r\n\r\ndata: b\r\rdata: c\n\n', ['a', 'b', 'c']],
    [': hello\n\ndata: a\n: in between\nid: 1\nevent: x\nretry: 5\n\n', ['a']],
    ['data: a\ndata:  b\ndata\n\n', ['a\n b']],
    ['\ufeffdata: \u{1f469}\u200d\u{1f4bb}é\n\n', ['\u{1f469}\u200d\u{1f4bb}é']],
    ['data: cut off\n', []],
    ['\n\n\ndata: {"delta":"\\n\\n"}\n\n', ['{"delta":"\\n\\n"}']],
  ];
  const problems = await page.evaluate(async (cases) => {
    const { FrameParser } = await import('/assets/stream.js');
    const problems = [];
    for (const [text, expected] of cases) {
      const bytes = new TextEncoder().encode(text);
      for (let first = 0; first <= bytes.length; first += 1) {
        for (let second = first; second <= bytes.length; second += 1) {
          const parser = new FrameParser();
          const frames = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)].flatMap((piece) =>
            parser.push(piece),
          );
          if (JSON.stringify(frames) !== JSON.stringify(expected)) problems.push([text, first, second, frames]);
        }
      }
    }
    return problems;
  }, cases);
  assert.deepEqual(problems, []);
});

test('a resumed stream says everything again and nothing is there twice', async () => {
  const text = await page.evaluate(async () => {
    const { applyChunk, emptyAnswer } = await import('/assets/message.js');
    const { AnswerView } = await import('/assets/message_view.js');
    const message = emptyAnswer();
    const view = new AnswerView(null);
    const chunks = [
      { type: 'start', messageId: 'm' },
      { type: 'reasoning-start', id: 'r' },
      { type: 'reasoning-delta', id: 'r', delta: 'why' },
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'one' },
      { type: 'text-end', id: '0' },
      { type: 'tool-input-start', toolCallId: 'c', toolName: 'list_checks' },
      { type: 'tool-input-available', toolCallId: 'c', toolName: 'list_checks', input: {} },
      { type: 'unheard-of', value: 1 },
      { type: 'tool-output-available', toolCallId: 'c', output: null },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'two' },
    ];
    for (const chunk of [...chunks, ...chunks.slice(0, 6), ...chunks]) {
      applyChunk(message, chunk);
      view.update(message);
    }
    return [...view.body.children].map((part) => part.textContent);
  });
  assert.deepEqual(text, ['How the assistant got therewhy', 'one', 'Looked at your checks', 'two']);
});
