/* The chat when things go wrong on the way: refusals, broken connections, stops. The test makes the answers. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { eventually, openPage, startBrowser, startFlatline, streamOf } from './harness.js';

const FIELD = 'Message to the assistant';
const SSE = { 'content-type': 'text/event-stream; charset=utf-8' };
const ANSWER = [
  { type: 'start', messageId: 'answer-1' },
  { type: 'start-step' },
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: 'The whole ' },
  { type: 'text-delta', id: '0', delta: 'answer.' },
  { type: 'text-end', id: '0' },
  { type: 'finish-step' },
  { type: 'finish' },
];

let flatline;
let browser;

before(async () => {
  flatline = await startFlatline();
  browser = await startBrowser();
});

after(async () => {
  await browser?.close();
  await flatline?.stop();
});

async function visitor(expected = []) {
  const page = await openPage(browser, flatline.home, { expected });
  await page.goto(flatline.home);
  await page.locator('.welcome').waitFor();
  return page;
}

async function ask(page, text) {
  await page.getByLabel(FIELD).fill(text);
  await page.keyboard.press('Enter');
}

const problem = (status, code, detail, more = {}) => ({
  status,
  headers: { 'content-type': 'application/problem+json' },
  body: JSON.stringify({ type: 'about:blank', title: code, status, code, detail, request_id: 'req-7', ...more }),
});

/** Answers `POST /api/chat` with the given answers in turn, and keeps the messages that were sent. */
async function answerChat(page, ...answers) {
  const sent = [];
  await page.route('**/api/chat', async (route) => {
    sent.push(route.request().postDataJSON().message);
    const answer = answers[sent.length - 1];
    if (answer === 'lost') await route.abort();
    else await route.fulfill(answer);
  });
  return sent;
}

test('a refusal is shown with its request; trying again sends the same message', async () => {
  const page = await visitor([502]);
  const sent = await answerChat(page, problem(502, 'model_unavailable', 'The model does not answer.'), {
    headers: SSE,
    body: streamOf(...ANSWER),
  });
  await ask(page, 'hello');
  const unsent = page.locator('.message.unsent');
  await unsent.waitFor();
  assert.match(await unsent.innerText(), /Not sent\. The model does not answer\.[^]*req-7/);
  await unsent.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('The whole answer.').waitFor();
  assert.equal(await page.locator('.unsent').count(), 0);
  assert.equal(await page.locator('.message.user').count(), 1);
  assert.deepEqual(sent[1], sent[0]);
  assert.deepEqual(sent[0].parts, [{ type: 'text', text: 'hello' }]);
  page.calm();
  await page.context().close();
});

test('a message that got no answer keeps its text; edited, it is another message', async () => {
  const page = await visitor();
  const sent = await answerChat(page, 'lost', { headers: SSE, body: streamOf(...ANSWER) });
  await ask(page, 'hello there');
  await page.locator('.message.unsent').getByRole('button', { name: 'Edit' }).click();
  assert.equal(await page.getByLabel(FIELD).inputValue(), 'hello there');
  await page.keyboard.press('Enter');
  await page.getByText('The whole answer.').waitFor();
  assert.notEqual(sent[1].id, sent[0].id);
  await page.context().close();
});

test('after the wait, sending works again', async () => {
  const page = await visitor([429]);
  const refused = problem(429, 'quota_exceeded', 'You have sent 30 messages in the last hour.', {
    retry_after_seconds: 2,
  });
  const sent = await answerChat(page, refused, { headers: SSE, body: streamOf(...ANSWER) });
  await ask(page, 'hello');
  const again = page.locator('.unsent').getByRole('button', { name: 'Try again' });
  await again.waitFor();
  assert.ok(await again.isDisabled());
  assert.match(await page.locator('.composer .note').innerText(), /again in [12] seconds?\./);
  await eventually('Try again is possible', () => again.isEnabled(), 4000);
  assert.match(await page.locator('.composer [role="status"]').textContent(), /You can send again/);
  await again.click();
  await page.getByText('The whole answer.').waitFor();
  assert.equal(sent[1].id, sent[0].id);
  page.calm();
  await page.context().close();
});

test('a stream that breaks is taken up again, from its first chunk', async () => {
  const page = await visitor();
  const cut = streamOf(...ANSWER.slice(0, 4)).replace('data: [DONE]\n\n', 'data: {"type":"text-de');
  await answerChat(page, { headers: SSE, body: cut });
  let resumed = 0;
  await page.route('**/api/chat/*/stream', async (route) => {
    resumed += 1;
    if (resumed === 1) {
      await page.getByText('Reconnecting').waitFor();
      await route.abort();
    } else await route.fulfill({ headers: SSE, body: streamOf(...ANSWER) });
  });
  await ask(page, 'hello');
  await page.getByText('The whole answer.').waitFor();
  assert.equal(resumed, 2);
  assert.equal(await page.locator('.message.assistant').count(), 1);
  assert.equal(await page.locator('.message.assistant .text').innerText(), 'The whole answer.');
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  await page.context().close();
});

test('a stream that breaks at its end is completed from the history', async () => {
  const page = await visitor();
  const cut = streamOf(...ANSWER.slice(0, 4)).replace('data: [DONE]\n\n', '');
  await answerChat(page, { headers: SSE, body: cut });
  await page.route('**/api/chat/*/stream', (route) => route.fulfill({ status: 204 }));
  const messages = [
    { id: 'question-1', role: 'user', parts: [{ type: 'text', text: 'hello' }], metadata: { status: 'complete' } },
    {
      id: 'answer-1',
      role: 'assistant',
      parts: [{ type: 'text', text: 'From the history.' }],
      metadata: { status: 'interrupted' },
    },
  ];
  await page.route(/\/api\/chat\/[^/]+$/, (route) => route.fulfill({ json: { id: 'c', messages } }));
  await ask(page, 'hello');
  await page.getByText('From the history.').waitFor();
  assert.match(await page.locator('.message.assistant').innerText(), /Stopped before the end/);
  assert.equal(await page.locator('.message').count(), 2);
  page.calm();
  await page.context().close();
});

test('a turn that is still running when the page opens is followed', async () => {
  const page = await visitor();
  await answerChat(page, { headers: SSE, body: streamOf(...ANSWER) });
  await ask(page, 'hello');
  await page.getByText('The whole answer.').waitFor();
  const messages = [
    { id: 'question-1', role: 'user', parts: [{ type: 'text', text: 'hello' }], metadata: { status: 'complete' } },
    { id: 'answer-1', role: 'assistant', parts: [{ type: 'text', text: 'The wh' }], metadata: { status: 'streaming' } },
  ];
  await page.route(/\/api\/chat\/[^/]+$/, (route) => route.fulfill({ json: { id: 'c', messages } }));
  await page.route('**/api/chat/*/stream', (route) => route.fulfill({ headers: SSE, body: streamOf(...ANSWER) }));
  await page.reload();
  await page.getByText('The whole answer.').waitFor();
  assert.equal(await page.locator('.message').count(), 2);
  page.calm();
  await page.context().close();
});

test('an error and a stop are told under what was said', async () => {
  const page = await visitor();
  const said = ANSWER.slice(0, 6);
  await answerChat(
    page,
    { headers: SSE, body: streamOf(...said, { type: 'error', errorText: 'The model stopped answering.' }) },
    { headers: SSE, body: streamOf({ ...said[0], messageId: 'answer-2' }, ...said.slice(1), { type: 'abort' }) },
  );
  const last = page.locator('.message.assistant').last();
  await ask(page, 'first');
  await page.getByText('The model stopped answering.').waitFor();
  assert.match(await last.innerText(), /The whole answer\.\s+The model stopped answering\./);
  await ask(page, 'second');
  await page.getByText('Stopped before the end.').waitFor();
  assert.match(await last.innerText(), /The whole answer\.\s+Stopped before the end\./);
  page.calm();
  await page.context().close();
});

test('Send becomes Stop; Stop asks the server and ends the waiting', async () => {
  const page = await visitor();
  await page.route('**/api/chat', () => {}); // never answered
  let stopped = 0;
  await page.route('**/api/chat/*/stop', async (route) => {
    stopped += 1;
    await route.fulfill({ status: 204 });
  });
  await ask(page, 'hello');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  assert.equal(stopped, 1);
  page.calm();
  await page.context().close();
});

test('a tap whose answer is lost is not called a failure: the row tells', async () => {
  const page = await visitor();
  const action = {
    id: 'action-1',
    number: 1,
    conversation_id: 'c',
    kind: 'pause_check',
    title: 'Pause nightly-backup',
    summary: 'It goes silent.',
    changes: [{ field: 'paused', before: 'no', after: 'yes' }],
    warnings: [],
    destructive: false,
    status: 'PENDING',
    created_at: new Date().toISOString(),
    expires_at: new Date(Date.now() + 600_000).toISOString(),
    decided_at: null,
    decided_via: null,
    outcome: null,
    digest: 'digest-1',
  };
  const done = {
    ...action,
    status: 'EXECUTED',
    decided_at: new Date().toISOString(),
    decided_via: 'button',
    outcome: { code: 'done', message: 'Paused nightly-backup (action 1).' },
  };
  await answerChat(page, {
    headers: SSE,
    body: streamOf(ANSWER[0], { type: 'data-action', id: 'action-1', data: action }, { type: 'finish' }),
  });
  await page.route('**/api/actions?*', (route) => route.fulfill({ json: { actions: [action], next: null } }));
  const confirmed = [];
  await page.route('**/api/actions/action-1/confirm', async (route) => {
    confirmed.push(route.request().postDataJSON());
    await route.abort();
  });
  let known = false;
  await page.route('**/api/actions/action-1', (route) => (known ? route.fulfill({ json: done }) : route.abort()));
  await ask(page, 'pause it');
  const card = page.locator('.card');
  await card.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('It is not known yet whether this was done').waitFor();
  assert.equal(await card.getAttribute('data-status'), 'PENDING');
  // The list of open actions still has it: so it was not done, and can be tapped again.
  await eventually('known again', async () => (await card.locator('.problem').textContent()) === '');
  known = true;
  await card.getByRole('button', { name: 'Confirm' }).click();
  await page.getByText('Paused nightly-backup (action 1).').waitFor();
  assert.equal(await card.getAttribute('data-status'), 'EXECUTED');
  assert.deepEqual(confirmed, [{ digest: 'digest-1' }, { digest: 'digest-1' }]);
  await page.context().close();
});
