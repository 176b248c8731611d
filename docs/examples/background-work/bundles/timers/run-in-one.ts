import type { Pool, PoolClient } from 'pg'
import { profile } from 'sinfonietta'

/**
 * Runs work by a timer in one of all workers: the one that has got a lock of PostgreSQL, which it
 * keeps until it ends. The returned function ends this.
 */
export function runInOne(
  pool: Pool,
  { milliseconds, name, work }: { name: string; milliseconds: number; work: () => Promise<void> },
  onFailure: (error: unknown) => void,
): () => void {
  let holder: PoolClient | undefined
  let isEnded = false
  const turn = async () => {
    if (holder === undefined) {
      const client = await pool.connect()
      const { rows } = await client.query('SELECT pg_try_advisory_lock(hashtext($1)) AS held', [name])
      if (!rows[0]?.held || isEnded) return client.release(isEnded)
      // PostgreSQL takes the lock from a lost connection.
      client.once('error', () => {
        holder = undefined
      })
      holder = client
    }
    await profile(name, work)
  }
  let isRunning = false
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    await turn().catch(onFailure)
    isRunning = false
  }, milliseconds)
  return () => {
    isEnded = true
    clearInterval(timer)
    holder?.release(true)
  }
}
