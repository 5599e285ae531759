/* The chat alone, for a frame on another site. */

import { Chat } from './chat.js';
import { startSession } from './session.js';

const main = document.getElementById('main');
const session = await startSession(main);
if (session) {
  const suggestions = () => (session.kind === 'user' ? ['list my checks', 'help'] : ['What is Flatline?', 'help']);
  const chat = new Chat(session, { suggestions });
  main.replaceChildren(chat.element);
  const load = () => chat.load().catch((problem) => chat.log.fail(problem, load));
  load();
}
