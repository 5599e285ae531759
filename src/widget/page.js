/* The page: the list of checks beside the chat; for a visitor, what Flatline is and how to sign in. */

import { Channels } from './channels.js';
import { Chat } from './chat.js';
import { Checks } from './checks.js';
import { h } from './dom.js';
import { startSession } from './session.js';

const main = document.getElementById('main');
const session = await startSession(main);
if (session) show();

function show() {
  const channels = session.kind === 'user' ? new Channels() : null;
  const checks = channels && new Checks(channels);
  const chat = new Chat(session, {
    onDecided: () => checks?.refresh(),
    suggestions: () =>
      checks ? ownerSuggestions(checks.names) : ['What is Flatline?', 'How do I send a ping?', 'help'],
  });
  const side = checks?.element ?? document.getElementById('about').content.cloneNode(true);
  main.replaceChildren(side, chat.element);
  document
    .getElementById('who')
    .replaceChildren(
      ...(session.kind === 'user' ? signedIn(session.user) : [h('span', { class: 'visitor' }, 'Visitor')]),
    );
  paneButtons(checks ? 'Checks' : 'About');
  const load = () => chat.load().catch((problem) => chat.log.fail(problem, load));
  (checks ? checks.refresh() : Promise.resolve()).then(load);
  channels?.refresh();
}

function ownerSuggestions(names) {
  const first = names.find((name) => !name.includes('"'));
  return [
    'list my checks',
    ...(first ? [`pause ${first} for 2 hours`] : ['create "nightly-backup" every 24 hours']),
    'help',
  ];
}

function signedIn(user) {
  return [
    h('span', { class: 'name', dir: 'auto' }, user.name),
    h('span', { class: 'tier' }, user.tier),
    h(
      'form',
      { method: 'post', action: '/sign-out' },
      h('button', { type: 'submit', class: 'quiet small' }, 'Sign out'),
    ),
  ];
}

/** On a phone one pane is shown at a time. */
function paneButtons(sideName) {
  const panes = document.getElementById('panes');
  const names = { side: sideName, chat: 'Chat' };
  const choose = (chosen) => {
    document.body.dataset.pane = chosen;
    for (const button of panes.children) button.setAttribute('aria-pressed', String(button.value === chosen));
  };
  panes.replaceChildren(
    ...Object.entries(names).map(([value, name]) =>
      h('button', { type: 'button', value, onclick: () => choose(value) }, name),
    ),
  );
  choose(Checks.isNamed ? 'side' : 'chat');
}
