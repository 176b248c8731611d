import { AsyncLocalStorage } from 'node:async_hooks'
import type { Trace } from './trace.ts'

/** A resolver of GraphQL, and the request that it works for. */
interface RunningField {
  readonly field: string
  readonly trace: Trace
}

/** Each context makes `await` slower on Node 20, so there is none before the first field. */
let fields: AsyncLocalStorage<RunningField | undefined> | undefined

/**
 * The rest of the running code works for a field. The returned function ends that; what the code
 * has started goes on for it.
 */
export function enterField(field: RunningField): () => void {
  fields ??= new AsyncLocalStorage()
  const storage = fields
  const outer = storage.getStore()
  storage.enterWith(field)
  return () => storage.enterWith(outer)
}

/**
 * The field that the running code works for. A connection of a pool keeps that of an earlier
 * request, which does not count.
 */
export function findField({ main }: Trace): string | undefined {
  const { field, trace } = fields?.getStore() ?? {}
  return trace?.main === main ? field : undefined
}
