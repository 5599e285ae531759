/* A message as the stream builds it: the same parts that the history gives. */

/** An assistant message before its first chunk; `id` comes with `start`. */
export function emptyAnswer() {
  return { id: null, role: 'assistant', parts: [], metadata: { status: 'streaming' }, error: null };
}

/** Takes one chunk in. Chunks of kinds that we do not know change nothing. */
export function applyChunk(message, chunk) {
  switch (chunk.type) {
    case 'start':
      // A resumed stream begins again: what was there is told once more.
      message.id = chunk.messageId ?? message.id;
      message.parts = [];
      message.error = null;
      message.metadata = { ...message.metadata, status: 'streaming' };
      break;
    case 'text-start':
      message.parts.push({ type: 'text', text: '', streamId: chunk.id });
      break;
    case 'reasoning-start':
      message.parts.push({ type: 'reasoning', text: '', streamId: chunk.id });
      break;
    case 'text-delta':
    case 'reasoning-delta': {
      const part = openPart(message, chunk.type.split('-')[0], chunk.id);
      if (part) part.text += chunk.delta;
      break;
    }
    case 'text-end':
    case 'reasoning-end': {
      const part = openPart(message, chunk.type.split('-')[0], chunk.id);
      if (part) part.streamId = null;
      break;
    }
    case 'tool-input-start':
      message.parts.push({ type: `tool-${chunk.toolName}`, toolCallId: chunk.toolCallId, state: 'input-streaming' });
      break;
    case 'tool-input-available':
      setTool(message, chunk, 'input-available');
      break;
    case 'tool-output-available':
      setTool(message, chunk, 'output-available');
      break;
    case 'tool-output-error':
      setTool(message, chunk, 'output-error');
      break;
    case 'data-action':
      setAction(message, chunk);
      break;
    case 'finish':
      message.metadata.status = 'complete';
      break;
    case 'abort':
      message.metadata.status = 'interrupted';
      break;
    case 'error':
      message.metadata.status = 'failed';
      message.error = chunk.errorText;
      break;
  }
}

function openPart(message, type, streamId) {
  return message.parts.findLast((part) => part.type === type && part.streamId === streamId);
}

function setTool(message, chunk, state) {
  const part = message.parts.findLast((known) => known.toolCallId === chunk.toolCallId);
  if (part) part.state = state;
  else if (chunk.toolName) message.parts.push({ type: `tool-${chunk.toolName}`, toolCallId: chunk.toolCallId, state });
}

function setAction(message, chunk) {
  const part = message.parts.find((known) => known.type === 'data-action' && known.id === chunk.id);
  if (part) part.data = chunk.data;
  else message.parts.push({ type: 'data-action', id: chunk.id, data: chunk.data });
}
