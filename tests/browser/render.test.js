/* The stream parser and the renderer in a real browser, under the real policy, against hostile text cut anywhere. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openPage, startBrowser, startFlatline } from './harness.js';
import { HEAVY, HOSTILE, PLAIN } from './texts.js';

const ELEMENTS =
  'A BDI BLOCKQUOTE BR BUTTON CODE DIV EM HR LI OL P PRE SPAN STRONG TABLE TBODY TD TH THEAD TR UL'.split(' ');
const ATTRIBUTES = 'aria-level class dir href rel role start tabindex target type'.split(' ');

let flatline;
let browser;
let page;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

async function freshPage() {
  page = await openPage(browser, flatline.home);
  await page.goto(flatline.home);
  await page.locator('.chat').waitFor();
  return page;
}

/** What is in an element that should not be; runs in the page. */
function strangers({ selector, elements, attributes }) {
  const found = [];
  for (const element of document.querySelectorAll(`${selector}, ${selector} *`)) {
    if (!elements.includes(element.nodeName)) found.push(element.nodeName);
    for (const { name } of element.attributes)
      if (!attributes.includes(name)) found.push(`${element.nodeName} ${name}`);
    if (element.nodeName !== 'A') continue;
    const safe = ['http:', 'https:', 'mailto:'].includes(element.protocol) && !element.username && !element.password;
    if (!safe || element.target !== '_blank' || element.rel !== 'noopener noreferrer') found.push(element.outerHTML);
  }
  return found;
}

test('the watch sees a violation, a request to elsewhere and a script error', async () => {
  await freshPage();
  await page.evaluate(() => {
    const trap = document.createElement('div');
    document.body.append(trap);
    const image = new Image();
    image.src = 'https://elsewhere.example/pixel.png';
    trap.append(image);
    setTimeout(() => (trap.innerHTML = '<img src=x onerror=alert(1)>'));
  });
  await page.waitForTimeout(300);
  assert.ok(
    page.wrong.some((what) => what.startsWith('policy: img-src https://elsewhere.example')),
    page.wrong.join('\n'),
  );
  assert.ok(
    page.wrong.some((what) => what.startsWith('policy: require-trusted-types-for')),
    page.wrong.join('\n'),
  );
  assert.ok(
    page.wrong.some((what) => what.startsWith('script error')),
    page.wrong.join('\n'),
  );
  await page.close();
});

test('plain text becomes the nodes it should', async () => {
  await freshPage();
  const made = await page.evaluate(
    async (texts) => {
      const { renderText } = await import('/assets/render.js');
      return texts.map((text) => {
        const element = renderText(text);
        element
          .querySelectorAll('a')
          .forEach((link) => ['target', 'rel', 'class'].forEach((name) => link.removeAttribute(name)));
        element.querySelectorAll('.code, .table').forEach((box) => box.replaceWith(box.querySelector('pre, table')));
        return element.innerHTML;
      });
    },
    PLAIN.map(([text]) => text),
  );
  PLAIN.forEach(([text, html], index) => assert.equal(made[index], html, JSON.stringify(text)));
  page.calm();
  await page.close();
});

test('hostile text, cut at every byte and every character, runs and loads nothing', async () => {
  await freshPage();
  const title = await page.title();
  for (const text of [...HOSTILE, ...PLAIN.map(([plain]) => plain)]) {
    const result = await page.evaluate(async (text) => {
      const { FrameParser } = await import('/assets/stream.js');
      const { applyChunk, emptyAnswer } = await import('/assets/message.js');
      const { AnswerView } = await import('/assets/message_view.js');
      const stage = document.getElementById('stage') ?? document.body.appendChild(document.createElement('div'));
      stage.id = 'stage';

      const show = (pieces) => {
        const message = emptyAnswer();
        const view = new AnswerView(null);
        stage.replaceChildren(view.element);
        const parser = new FrameParser();
        for (const piece of pieces) {
          for (const frame of parser.push(piece)) if (frame !== '[DONE]') applyChunk(message, JSON.parse(frame));
          view.update(message);
        }
        return view.element.querySelector('.text');
      };
      const wire = (...deltas) => {
        const chunks = [
          { type: 'start', messageId: 'm' },
          { type: 'text-start', id: 't' },
          ...deltas.map((delta) => ({ type: 'text-delta', id: 't', delta })),
          { type: 'text-end', id: 't' },
          { type: 'finish' },
        ];
        return new TextEncoder().encode(
          chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('') + 'data: [DONE]\n\n',
        );
      };

      const whole = show([wire(text)]);
      const problems = [];
      const bytes = wire(text);
      for (let at = 1; at < bytes.length; at += 1) {
        if (!show([bytes.slice(0, at), bytes.slice(at)])?.isEqualNode(whole)) problems.push(`byte ${at}`);
      }
      const characters = [...text];
      for (let at = 1; at < characters.length; at += 1) {
        const cut = wire(characters.slice(0, at).join(''), characters.slice(at).join(''));
        if (!show([cut])?.isEqualNode(whole)) problems.push(`character ${at}`);
      }
      // Drawn after each character: what was drawn early must not stay behind.
      const { TextView } = await import('/assets/render.js');
      const growing = new TextView();
      stage.append(growing.element);
      characters.forEach((_, index) => growing.update(characters.slice(0, index + 1).join('')));
      if (!growing.element.isEqualNode(whole))
        problems.push(`growing: ${growing.element.outerHTML} is not ${whole.outerHTML}`);
      return problems;
    }, text);
    assert.deepEqual(result, [], JSON.stringify(text));
    const found = await page.evaluate(strangers, {
      selector: '#stage .text',
      elements: ELEMENTS,
      attributes: ATTRIBUTES,
    });
    assert.deepEqual(found, [], JSON.stringify(text));
  }
  await page.waitForTimeout(200);
  assert.equal(await page.title(), title);
  page.calm();
  await page.close();
});

test('hostile text in cards, checks, questions and problems stays text', async () => {
  await freshPage();
  const title = await page.title();
  const lost = await page.evaluate(async (texts) => {
    const { ActionCard } = await import('/assets/action_card.js');
    const { CheckRow } = await import('/assets/check_row.js');
    const { QuestionView, problemNodes } = await import('/assets/message_view.js');
    const stage = document.body.appendChild(document.createElement('div'));
    stage.id = 'stage';
    const time = new Date().toISOString();
    return texts.filter((text) => {
      const action = {
        id: text,
        number: 1,
        conversation_id: text,
        kind: text,
        title: text,
        summary: text,
        changes: [{ field: text, before: text, after: [text] }],
        warnings: [text],
        destructive: false,
        status: 'FAILED',
        created_at: time,
        expires_at: time,
        decided_at: time,
        decided_via: 'button',
        outcome: { code: text, message: text },
        digest: text,
      };
      const card = new ActionCard(action, () => {}, false);
      card.update(action, { busy: null, problem: text, onlyOne: true });
      const check = {
        id: text,
        name: text,
        tags: [text],
        description: text,
        cron: text,
        timezone: text,
        grace_seconds: 60,
        status: 'up',
        late: false,
        started: true,
        rejected_count: 0,
        ping_url: text,
        last_ping_at: time,
        due_at: time,
      };
      const row = new CheckRow(check, {});
      const question = new QuestionView({ parts: [{ type: 'text', text }] });
      const problem = document.createElement('p');
      problem.append(...problemNodes({ message: text, requestId: text }));
      const places = [card.element, row.element, question.element, problem];
      stage.append(...places);
      return places.some(
        (place) => !place.textContent.includes(text.replace(/_/g, ' ')) && !place.textContent.includes(text),
      );
    });
  }, HOSTILE);
  assert.deepEqual(lost, []);
  assert.deepEqual(
    await page.evaluate(() =>
      [
        ...document.querySelectorAll('#stage :is(img, script, iframe, svg:not(.bars), style, link, object, a, form)'),
      ].map((element) => element.outerHTML),
    ),
    [],
  );
  await page.waitForTimeout(200);
  assert.equal(await page.title(), title);
  page.calm();
  await page.close();
});

test('long and nested text costs time in proportion to its length', async () => {
  await freshPage();
  for (const piece of HEAVY) {
    const milliseconds = await page.evaluate(async (piece) => {
      const { renderText } = await import('/assets/render.js');
      const begin = performance.now();
      renderText(piece.repeat(Math.ceil(200_000 / piece.length)));
      return performance.now() - begin;
    }, piece);
    assert.ok(milliseconds < 3000, `${JSON.stringify(piece)}: ${milliseconds} ms`);
  }
  const streamed = await page.evaluate(async () => {
    const { TextView } = await import('/assets/render.js');
    const view = new TextView();
    const begin = performance.now();
    let text = '';
    for (let index = 0; index < 4000; index += 1)
      view.update((text += `Paragraph ${index} of a **long** answer, with \`code\`.\n\n`));
    return { milliseconds: performance.now() - begin, paragraphs: view.element.children.length };
  });
  assert.equal(streamed.paragraphs, 4000);
  assert.ok(streamed.milliseconds < 3000, `${streamed.milliseconds} ms`);
  page.calm();
  await page.close();
});
