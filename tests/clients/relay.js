/* A relay on the way to the server, whose connections a test can break, and what a page is told when one breaks. */

import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** `base` is its address; `cut()` breaks all that is open now; later connections pass. */
export async function startRelay(target) {
  const { hostname, port } = new URL(target);
  const open = new Set();
  const server = createServer((near) => {
    const far = connect(port, hostname);
    open.add(near);
    near.on('error', () => far.destroy());
    near.on('close', () => (open.delete(near), far.destroy()));
    far.on('error', () => near.destroy());
    far.on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => open.forEach((socket) => socket.destroy());
  return {
    base: `http://127.0.0.1:${server.address().port}`,
    cut,
    stop: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}

/**
 * `fetch` as a browser does it: an answer that breaks off is a "network error", where Node says "terminated". The
 * clients go by these words.
 */
export async function browserFetch(...request) {
  const response = await fetch(...request);
  if (!response.body) return response;
  const reader = response.body.getReader();
  const body = new ReadableStream({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        controller.error(error.name === 'AbortError' ? error : new TypeError('network error', { cause: error }));
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, response);
}
