/* Flatline for other sites: a button that opens the chat in a frame of Flatline's own origin. */

(() => {
  const origin = new URL(document.currentScript.src).origin;
  let frame = null;

  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Ask Flatline';
  button.setAttribute('aria-expanded', 'false');
  Object.assign(button.style, {
    position: 'fixed',
    right: '20px',
    bottom: '20px',
    zIndex: '2147483000',
    padding: '12px 18px',
    border: '0',
    borderRadius: '999px',
    font: '600 15px system-ui, sans-serif',
    color: '#fff',
    background: '#0f766e',
    boxShadow: '0 4px 16px rgb(0 0 0 / 25%)',
    cursor: 'pointer',
  });
  button.addEventListener('click', () => (isOpen() ? close() : open()));

  function isOpen() {
    return frame !== null && !frame.hidden;
  }

  // The frame is made when it is first asked for: a page that nobody asks loads nothing more than this file.
  function open() {
    frame ??= document.body.appendChild(makeFrame());
    frame.hidden = false;
    button.textContent = 'Close';
    button.setAttribute('aria-expanded', 'true');
    frame.focus();
  }

  function close() {
    if (frame) frame.hidden = true;
    button.textContent = 'Ask Flatline';
    button.setAttribute('aria-expanded', 'false');
  }

  function makeFrame() {
    const made = document.createElement('iframe');
    made.src = `${origin}/embed`;
    made.title = 'Flatline assistant';
    made.allow = 'clipboard-write';
    Object.assign(made.style, {
      position: 'fixed',
      right: '20px',
      bottom: '80px',
      zIndex: '2147483000',
      width: 'min(420px, calc(100vw - 40px))',
      height: 'min(640px, calc(100vh - 120px))',
      border: '1px solid rgb(128 128 128 / 40%)',
      borderRadius: '14px',
      boxShadow: '0 12px 40px rgb(0 0 0 / 30%)',
      colorScheme: 'light dark',
    });
    return made;
  }

  const start = () => document.body.appendChild(button);
  if (document.body) start();
  else document.addEventListener('DOMContentLoaded', start);
  window.Flatline = { open, close };
})();
