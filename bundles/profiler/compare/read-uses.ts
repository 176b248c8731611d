import type { Profile } from '../profile.ts'
import { readCalls } from '../reading/read-calls.ts'
import { readExceptions } from '../reading/read-exceptions.ts'
import { readRenders } from '../reading/read-renders.ts'

/** Reads what was thrown in a profile, and how often, by class and message. */
export function readExceptionUses(profile: Profile): Map<string, number> {
  return count(readExceptions(profile).map(({ message, name }) => (message === '' ? name : `${name}: ${message}`)))
}

/** Reads how often each template of a profile was rendered. */
export function readTemplateUses(profile: Profile): Map<string, number> {
  return count(readRenders(profile).all.map(({ name }) => name))
}

/** Reads how each outgoing request of a profile ended, by method and URL. */
export function readCallUses(profile: Profile): Map<string, string[]> {
  const uses = new Map<string, string[]>()
  for (const { method, outcome, url } of readCalls(profile).calls) {
    const name = `${method} ${url}`
    uses.set(name, [...(uses.get(name) ?? []), outcome.text])
  }
  return uses
}

function count(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
