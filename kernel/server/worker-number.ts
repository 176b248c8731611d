import cluster from 'node:cluster'

/** The variable by which the main process gives a worker its number. */
export const workerVariable = 'SINFONIETTA_WORKER'

let number: number | undefined

/**
 * The number of this worker, from 1 to the number of workers; 1 without workers. The worker that takes the
 * place of another one, after a reload or a crash, has its number: the id of `node:cluster` is new each time.
 */
export function workerNumber(): number {
  number ??= takeNumber()
  return number
}

/** The processes that a worker starts must not have its number. */
function takeNumber(): number {
  const given = process.env[workerVariable]
  delete process.env[workerVariable]
  return Number(given ?? cluster.worker?.id ?? 1)
}
