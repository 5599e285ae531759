/* What the tests need of the newest 6.x. */

export { Chat } from '@ai-sdk/react';
export { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
export const major = 6;
