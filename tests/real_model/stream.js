/* Reads UI message streams and holds them to their contract: headers, frames, the chunks' types, keys and order. */

import assert from 'node:assert/strict';

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  'x-vercel-ai-ui-message-stream': 'v1',
};
/** Every type that may be sent, with all the keys beside `type` that it has. */
const CHUNKS = {
  'start': ['messageId'],
  'start-step': [],
  'finish-step': [],
  'text-start': ['id'],
  'text-delta': ['id', 'delta'],
  'text-end': ['id'],
  'reasoning-start': ['id'],
  'reasoning-delta': ['id', 'delta'],
  'reasoning-end': ['id'],
  'tool-input-start': ['toolCallId', 'toolName'],
  'tool-input-delta': ['toolCallId', 'inputTextDelta'],
  'tool-input-available': ['toolCallId', 'toolName', 'input'],
  'tool-output-available': ['toolCallId', 'output'],
  'tool-output-error': ['toolCallId', 'errorText'],
  'data-action': ['id', 'data'],
  'finish': [],
  'abort': [],
  'error': ['errorText'],
};
const ENDINGS = ['finish', 'abort', 'error'];

/** The chunks of a stream as they come; throws at the first thing that a client could stumble over. */
export async function* chunksOf(response) {
  for (const [name, value] of Object.entries(HEADERS)) assert.equal(response.headers.get(name), value, name);
  for (const name of ['ratelimit', 'ratelimit-policy']) assert.ok(response.headers.get(name), `no ${name}`);
  assert.equal(response.headers.get('content-encoding'), null);
  const place = { started: false, inStep: false, spans: new Set(), used: new Set(), calls: new Map(), ended: false };
  let isDone = false;
  for await (const frame of framesOf(response.body)) {
    if (frame.startsWith(':')) continue;
    assert.match(frame, /^data: [^\n]+$/);
    assert.ok(!isDone, `after [DONE]: ${frame}`);
    const data = frame.slice('data: '.length);
    isDone = data === '[DONE]';
    if (isDone) continue;
    const chunk = JSON.parse(data);
    assertShape(chunk);
    assertPlace(chunk, place);
    yield chunk;
  }
  assert.ok(place.ended, 'the stream has no end');
  assert.ok(isDone, 'the stream has no [DONE]');
}

async function* framesOf(body) {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream('utf-8', { fatal: true }))) {
    const frames = (rest + text).split('\n\n');
    rest = frames.pop();
    yield* frames;
  }
  assert.equal(rest, '', 'the stream was cut inside a frame');
}

function assertShape(chunk) {
  assert.ok(Object.hasOwn(CHUNKS, chunk.type), `no type of ours: ${JSON.stringify(chunk)}`);
  assert.deepEqual(Object.keys(chunk).sort(), ['type', ...CHUNKS[chunk.type]].sort());
  for (const key of ['messageId', 'id', 'delta', 'toolCallId', 'toolName', 'inputTextDelta', 'errorText']) {
    if (key in chunk) assert.ok(typeof chunk[key] === 'string' && chunk[key] !== '', `${key} of ${chunk.type}`);
  }
}

/** What may come next: steps one after another, spans and calls opened before they go on and closed before the end. */
function assertPlace(chunk, place) {
  const { type, id, toolCallId } = chunk;
  const told = JSON.stringify(chunk);
  assert.ok(!place.ended, `after the end: ${told}`);
  assert.equal(type === 'start', !place.started, `one start, at the start: ${told}`);
  place.started = true;
  if (type === 'start-step' || type === 'finish-step') {
    assert.equal(type === 'finish-step', place.inStep, told);
    place.inStep = !place.inStep;
  }
  if (/^(text|reasoning)-start$/.test(type)) {
    assert.ok(place.inStep && !place.used.has(id), told);
    place.spans.add(id);
    place.used.add(id);
  }
  if (/^(text|reasoning)-(delta|end)$/.test(type)) assert.ok(place.spans.has(id), told);
  if (/^(text|reasoning)-end$/.test(type)) place.spans.delete(id);
  if (type === 'tool-input-start') {
    assert.ok(!place.calls.has(toolCallId), told);
    place.calls.set(toolCallId, 'open');
  } else if (toolCallId !== undefined) {
    assert.equal(place.calls.get(toolCallId), type.startsWith('tool-output') ? 'called' : 'open', told);
    if (type === 'tool-input-available') place.calls.set(toolCallId, 'called');
    if (type.startsWith('tool-output')) place.calls.set(toolCallId, 'answered');
  }
  if (type === 'finish-step' || ENDINGS.includes(type)) assert.equal(place.spans.size, 0, `a span is open: ${told}`);
  if (ENDINGS.includes(type)) assert.ok(!place.inStep, `a step is open: ${told}`);
  place.ended = ENDINGS.includes(type);
}

/** Whether a chunk is something that the model said or does. */
export function isSaid({ type }) {
  return ['text-delta', 'reasoning-delta', 'tool-input-start'].includes(type);
}

/** The message that chunks make, in what the history tells as well: see `essence`. */
export function messageOf(chunks) {
  const spans = new Map();
  const parts = [];
  for (const chunk of chunks) {
    const span = chunk.type.match(/^(text|reasoning)-start$/);
    if (span) spans.set(chunk.id, parts[parts.push({ type: span[1], text: '' }) - 1]);
    if (chunk.delta !== undefined) spans.get(chunk.id).text += chunk.delta;
    if (chunk.type === 'tool-input-available') parts.push({ type: `tool-${chunk.toolName}`, input: chunk.input });
    if (chunk.type === 'data-action') parts.push({ type: chunk.type, id: chunk.id });
  }
  return { id: chunks[0].messageId, parts, ending: chunks.at(-1).type };
}

/** A history's message without what its stream does not tell. */
export function essence({ id, parts }) {
  const kept = parts.filter(({ type }) => type !== 'step-start').map((part) => {
    if ('text' in part) return { type: part.type, text: part.text };
    return part.type === 'data-action' ? { type: part.type, id: part.id } : { type: part.type, input: part.input };
  });
  return { id, parts: kept };
}
