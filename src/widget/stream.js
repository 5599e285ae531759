/* The UI message stream: bytes to frames, frames to chunks. */

// The server sends at least a comment every 10 s; a connection that is silent for longer has died unnoticed.
const SILENCE_MS = 30_000;

/** Server-sent events, cut anywhere: `push` gives the data of the frames that a piece of bytes completed. */
export class FrameParser {
  #decoder = new TextDecoder();
  #line = [];
  #data = [];
  #afterReturn = false;

  push(bytes) {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return [];
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
    if (text !== '') this.#afterReturn = text.endsWith('\r');
    const frames = [];
    const [rest, ...lines] = text.split(/\r\n|\n|\r/).reverse();
    for (const end of lines.reverse()) {
      this.#line.push(end);
      this.#endLine(this.#line.join(''), frames);
      this.#line = [];
    }
    this.#line.push(rest);
    return frames;
  }

  #endLine(line, frames) {
    if (line === '') {
      if (this.#data.length > 0) frames.push(this.#data.join('\n'));
      this.#data = [];
    } else if (line.startsWith('data:')) {
      this.#data.push(line.slice(line[5] === ' ' ? 6 : 5));
    }
    // Comments keep the connection open; `event:`, `id:` and `retry:` mean nothing here.
  }
}

/**
 * Reads a response to its end, giving each chunk to `onChunk`.
 * True: it ended with `[DONE]`. False: the connection broke, or sent what is no chunk.
 */
export async function readChunks(response, onChunk) {
  const parser = new FrameParser();
  const reader = response.body.getReader();
  const cancel = () => reader.cancel().catch(() => {});
  let silence;
  try {
    for (;;) {
      silence = setTimeout(cancel, SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(silence);
      if (done) return false;
      for (const frame of parser.push(value)) {
        if (frame === '[DONE]') return true;
        onChunk(JSON.parse(frame));
      }
    }
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return false;
  } finally {
    clearTimeout(silence);
    cancel();
  }
}
