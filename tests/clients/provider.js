/* A model server that does what a test scripts: real bytes of Chat Completions over its own HTTP. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';

/**
 * A running provider. `script(…)` appends scripts, one for each request to come: `async (wire, request) => {…}`.
 * `asked` holds the requests' bodies. A request without a script is an error of the test, kept in `unscripted`.
 */
export async function startProvider() {
  const scripts = [];
  const provider = { asked: [], unscripted: [], script: (...more) => void scripts.push(...more) };
  const server = createServer(async (request, response) => {
    const body = await json(request);
    provider.asked.push(body);
    const script = scripts.shift();
    if (script) return script(new Wire(response), body);
    provider.unscripted.push(body.messages.at(-1));
    response.writeHead(400).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  provider.url = `http://127.0.0.1:${server.address().port}/v1`;
  provider.left = () => scripts.length;
  provider.stop = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return provider;
}

/** One answer on its way. */
class Wire {
  #response;
  #calls = 0;

  constructor(response) {
    this.#response = response;
    /** Settles when the connection is closed, by whichever side. */
    this.closed = once(response, 'close');
  }

  /** Answers with a status instead of a stream. */
  refuse(status) {
    this.#response.writeHead(status, { 'content-type': 'application/json' });
    this.#response.end(JSON.stringify({ error: { message: 'a secret of the provider', code: null } }));
  }

  say(content) {
    this.#choice({ content });
  }

  think(reasoning_content) {
    this.#choice({ reasoning_content });
  }

  call(name, input) {
    const index = this.#calls++;
    const whole = { index, id: `call-${index}`, type: 'function' };
    this.#choice({ tool_calls: [{ ...whole, function: { name, arguments: JSON.stringify(input) } }] });
  }

  finish() {
    this.#choice({}, this.#calls > 0 ? 'tool_calls' : 'stop');
    this.#frame({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } });
    this.#response.end('data: [DONE]\n\n');
  }

  /** Breaks the connection in the middle of the answer. */
  cut() {
    this.#response.destroy();
  }

  #choice(delta, finish_reason = null) {
    this.#frame({ choices: [{ index: 0, delta, finish_reason }] });
  }

  #frame(more) {
    if (!this.#response.headersSent) this.#response.writeHead(200, { 'content-type': 'text/event-stream' });
    const frame = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', ...more };
    this.#response.write(`data: ${JSON.stringify(frame)}\n\n`);
  }
}

/** A script that says these words, a delta for each. */
export function says(...texts) {
  return (wire) => {
    texts.forEach((text) => wire.say(text));
    wire.finish();
  };
}

/** A script that calls tools, each given as `[name, input]`. */
export function calls(...tools) {
  return (wire) => {
    tools.forEach(([name, input]) => wire.call(name, input));
    wire.finish();
  };
}

/** A script that refuses with this status. */
export function refuses(status) {
  return (wire) => wire.refuse(status);
}
