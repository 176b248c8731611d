import { setImmediate as nextTurn } from 'node:timers/promises'

/** Waits for some turns of the event loop: profiles are kept two of them after a response was sent. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}
