import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'

/**
 * Calls a function with the content of each notification of a channel of PostgreSQL, and once, without a content, after
 * each connection: something may have been missed. It uses a connection of its own, because one of a pool would be given
 * to other work. One that has ended is replaced after a second. The returned function ends this.
 */
export function listen(
  options: ClientConfig,
  channel: string,
  onNotification: (content?: string) => void,
  onFailure: (error: unknown) => void,
): () => Promise<void> {
  const closing = new AbortController()
  const { signal } = closing
  const run = async () => {
    while (!signal.aborted) {
      const client = new Client({ ...options, keepAlive: true })
      client.on('notification', ({ payload }) => onNotification(payload))
      try {
        await client.connect()
        await client.query(`LISTEN ${client.escapeIdentifier(channel)}`)
        onNotification()
        // It rejects when the connection is lost.
        await once(client, 'end', { signal })
      } catch (error) {
        if (!signal.aborted) onFailure(error)
      }
      client.on('error', () => {})
      await client.end().catch(() => {})
      await setTimeout(1_000, undefined, { signal }).catch(() => {})
    }
  }
  const running = run()
  return async () => {
    closing.abort()
    await running
  }
}
