import { type Outcome, type ProcessFacts, type Profile, type ProfileSummary, schemaVersion } from '../profile.ts'
import type { StoredProfile } from '../store/profile-storage.ts'

/** What was read from a disk may be anything: gives the profile of a token with parts that are what their types say. */
export function cleanProfile(token: string, { profile, facts, isPinned }: StoredProfile): StoredProfile {
  const { children, data, failures, summary } = toRecord(profile)
  const cleaned: Profile = {
    schemaVersion,
    summary: { ...cleanSummary(summary), token },
    children: Array.isArray(children) ? children.filter(isText) : [],
    data: toRecord(data),
    failures: Object.fromEntries(Object.entries(toRecord(failures)).map(([name, message]) => [name, toText(message)])),
  }
  const cleanFacts: ProcessFacts = toRecord(facts)
  return { profile: cleaned, facts: cleanFacts, isPinned }
}

/** The same for a summary: what is missing or of another type is empty. */
export function cleanSummary(summary: unknown): ProfileSummary {
  const read = toRecord(summary)
  return {
    token: toText(read.token),
    parent: textOrNull(read.parent),
    type: 'request',
    outcome: outcomes.find(outcome => outcome === read.outcome) ?? 'unfinished',
    status: toNumber(read.status),
    ip: toText(read.ip),
    method: toText(read.method),
    url: toText(read.url),
    route: textOrNull(read.route),
    controller: textOrNull(read.controller),
    contentType: textOrNull(read.contentType),
    time: Math.min(toNumber(read.time), latestDate),
    duration: toNumber(read.duration),
    memory: toNumber(read.memory),
    exception: textOrNull(read.exception),
    errors: toNumber(read.errors),
    warnings: toNumber(read.warnings),
    calls: toNumber(read.calls),
    subRequests: toNumber(read.subRequests),
  }
}

const outcomes: readonly Outcome[] = ['complete', 'aborted', 'crashed', 'unfinished']

/** The last moment that a Date can be. */
const latestDate = 8.64e15

function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  // Every object can be read by names.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function toText(value: unknown): string {
  return isText(value) ? value : ''
}

function textOrNull(value: unknown): string | null {
  return isText(value) ? value : null
}

function toNumber(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY ? value : 0
}
