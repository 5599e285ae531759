/* What the tests need of the newest 5.x. */

export { Chat } from '@ai-sdk/react';
export { DefaultChatTransport } from 'ai';
export const major = 5;
