/* Who is using the page: asked once at the start; and what to say when a sign-in is no longer good. */

import { call, onUnauthorized, open, useAnonymousToken } from './api.js';
import { h, storage } from './dom.js';

const TOKEN_KEY = 'flatline.session';

/**
 * The session, as `POST /api/session` answers. In a frame the session token goes in a header, as browsers keep our
 * cookie back there. Null when the sign-in has ended; `main` then offers the way on.
 */
export async function startSession(main) {
  onUnauthorized(() => showEnded(main));
  const framed = window.top !== window;
  if (framed) useAnonymousToken(storage.get(TOKEN_KEY));
  try {
    const session = await call('POST', '/api/session');
    if (framed) {
      useAnonymousToken(session.token ?? null);
      if (session.token) storage.set(TOKEN_KEY, session.token);
    }
    return session;
  } catch (problem) {
    if (problem.status !== 401) showUnreachable(main, problem);
    return null;
  }
}

function showEnded(main) {
  if (main.querySelector('.ended')) return;
  const leave = async () => {
    button.disabled = true;
    await open('POST', '/sign-out').catch(() => {});
    location.reload();
  };
  const button = h('button', { type: 'button', class: 'primary', onclick: leave }, 'Continue as a visitor');
  const panel = h(
    'section',
    { class: 'notice ended', role: 'alert' },
    h('h2', {}, 'Your session has ended'),
    h('p', {}, 'To go on with your checks, open a new sign-in link. Without one you can still ask questions.'),
    button,
  );
  main.replaceChildren(panel);
  button.focus();
}

function showUnreachable(main, problem) {
  const again = h('button', { type: 'button', class: 'primary', onclick: () => location.reload() }, 'Try again');
  const panel = h(
    'section',
    { class: 'notice', role: 'alert' },
    h('h2', {}, 'Flatline does not answer'),
    h('p', {}, problem.message),
    again,
  );
  main.replaceChildren(panel);
}
