/** Whether servers of tests have Node's own messages: with `SERVER_MESSAGES=node`. */
export function usesNodeMessages(): boolean {
  return process.env.SERVER_MESSAGES === 'node'
}
