import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/** Counts the primes below a limit, in a thread of its own. */
export function countPrimes(limit: number): Promise<number> {
  return new Promise((resolve, reject) => {
    // This file is also the program of the thread: its name ends with .ts or .js, as the application runs.
    const thread = new Worker(new URL(import.meta.url), { workerData: { primesBelow: limit } })
    thread.once('message', resolve)
    thread.once('error', reject)
    thread.once('exit', code => reject(new Error(`The thread has ended with the code ${code}.`)))
  })
}

function count(limit: number): number {
  let primes = 0
  for (let number = 2; number < limit; number++) {
    let divisor = 2
    while (divisor * divisor <= number && number % divisor !== 0) divisor++
    if (divisor * divisor > number) primes++
  }
  return primes
}

if (!isMainThread && workerData?.primesBelow !== undefined) parentPort?.postMessage(count(workerData.primesBelow))
