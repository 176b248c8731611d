import type { Application } from 'sinfonietta'

/**
 * Runs work again and again in each process of the server, one turn after the other. The returned
 * function ends this, and waits for the turn. In tests and in commands there are no turns.
 */
export function startTimer(
  { config, logger, signals }: Pick<Application, 'config' | 'logger' | 'signals'>,
  milliseconds: number,
  work: () => Promise<unknown>,
): () => Promise<void> {
  let timer: NodeJS.Timeout | undefined
  let turn: Promise<void> | undefined
  let failure = ''
  const run = async () => {
    try {
      await work()
      failure = ''
    } catch (exception) {
      // Without a database, each turn fails.
      if (String(exception) !== failure) logger.error('The work of a timer has failed.', { exception })
      failure = String(exception)
    }
  }
  signals.on('kernel.booted', () => {
    if (config.environment === 'test') return
    timer = setInterval(() => {
      turn ??= run().finally(() => {
        turn = undefined
      })
    }, milliseconds)
  })
  return async () => {
    clearInterval(timer)
    await turn
  }
}
