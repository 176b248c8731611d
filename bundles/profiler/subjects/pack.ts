import { packCallers, unpackCallers } from '../profile/callers.ts'
import type { JsonObject } from '../profile/json.ts'
import { packQueries, unpackQueries } from './queries/pack.ts'

/** Shortens the parts that are stored in a shorter form. */
export function packData(data: JsonObject): JsonObject {
  return packCallers(packQueries(data))
}

/** Reverts {@link packData}. `recorded` is its time. */
export function unpackData(data: JsonObject, recorded: number): JsonObject {
  return unpackQueries(unpackCallers(data, recorded))
}
