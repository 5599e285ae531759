/* Calls to Flatline's API; every refusal becomes a `Problem` that can be shown to a person. */

import { learnServerTime } from './time.js';

const CALL_TIMEOUT_MS = 15_000;
let anonymousToken = null;
let unauthorized = () => {};

/** An RFC 9457 answer, or no answer at all (`status` 0). `message` is a sentence for the user. */
export class Problem extends Error {
  constructor(status, body = {}, requestId = null) {
    super(body.detail || body.title || `Flatline answered with status ${status}.`);
    this.status = status;
    this.code = body.code ?? null;
    this.field = body.field ?? null;
    this.retryAfterSeconds = body.retry_after_seconds ?? null;
    this.requestId = body.request_id ?? requestId;
  }
}

/** In a frame on another site our cookie does not travel; the session token then goes in a header. */
export function useAnonymousToken(token) {
  anonymousToken = token;
}

/** What to do when a credential that we sent is no longer good. */
export function onUnauthorized(handler) {
  unauthorized = handler;
}

/** Sends a request; resolves with the response if its status is 2xx, else throws a `Problem`. */
export async function open(method, path, body, signal) {
  const headers = {};
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (anonymousToken) headers['Flatline-Session'] = anonymousToken;
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw unreachable();
  }
  learnServerTime(response.headers.get('Date'));
  if (response.ok) return response;
  const problem = new Problem(response.status, await jsonOrNothing(response), response.headers.get('X-Request-Id'));
  if (problem.status === 429 || problem.status === 503) {
    problem.retryAfterSeconds ??= Number(response.headers.get('Retry-After')) || null;
  }
  if (problem.status === 401) unauthorized(problem);
  throw problem;
}

/** One call with a JSON answer; null where the answer has no body. */
export async function call(method, path, body) {
  const response = await open(method, path, body, AbortSignal.timeout(CALL_TIMEOUT_MS));
  if (response.status === 204) return null;
  return response.json().catch(() => {
    throw unreachable();
  });
}

/** Every item of a paged list, newest first. */
export async function all(path, plural) {
  const items = [];
  let before = '';
  do {
    const page = await call('GET', `${path}?limit=100${before}`);
    items.push(...page[plural]);
    before = page.next == null ? '' : `&before=${encodeURIComponent(page.next)}`;
  } while (before);
  return items;
}

function unreachable() {
  return new Problem(0, { code: 'unreachable', title: 'Flatline cannot be reached right now.' });
}

async function jsonOrNothing(response) {
  try {
    return (await response.json()) ?? {};
  } catch {
    return {}; // A proxy in between may answer with a page of its own.
  }
}
