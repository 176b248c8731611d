import { fastMessages, type MessageClasses, nodeMessages } from '#kernel/server/messages.ts'

/** The classes of messages of servers in tests: those of Node if `SERVER_MESSAGES` is `node`. */
export function testedMessages(): MessageClasses {
  return process.env['SERVER_MESSAGES'] === 'node' ? nodeMessages : fastMessages()
}
