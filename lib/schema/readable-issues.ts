import { createMessageMask } from '../redact/mask-messages.ts'
import { cut } from '../redact/masking-copier.ts'
import { isSecretName } from '../redact/secret-names.ts'
import type { SchemaIssue } from './standard-schema.ts'

/** The issues of one input, for people and programs. */
export interface ReadableIssues {
  /** At most 50. */
  readonly issues: readonly ReadableIssue[]
  /** How many more there are. */
  readonly omitted: number
}

/** An issue whose message contains no secret of the input. */
export interface ReadableIssue {
  /** The keys on the way to the value; empty for the whole input. */
  readonly path: readonly string[]
  readonly message: string
}

const issueLimit = 50
const depthLimit = 64
const keyLimit = 200

/**
 * Makes the issues of a schema readable. Schemas may quote the input in their messages: values under secret names, such as
 * `password`, are masked.
 */
export function readIssues(issues: readonly SchemaIssue[], input: unknown): ReadableIssues {
  const maskMessage = createMessageMask(input)
  const listed = firstOf(issues, issueLimit).map(({ message, path = [] }) => {
    const keys = firstOf(path, depthLimit).map(toKey)
    return { path: keys, message: maskMessage(message, keys.some(isSecretName)) }
  })
  return { issues: listed, omitted: issues.length - listed.length }
}

/** ArkType has classes of arrays, whose methods return something else than arrays. */
function firstOf<item>(items: readonly item[], limit: number): item[] {
  const first: item[] = []
  for (const item of items) {
    if (first.length === limit) break
    first.push(item)
  }
  return first
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string {
  const key = String(typeof segment === 'object' ? segment.key : segment)
  return cut(key.toWellFormed(), keyLimit)
}

/** Writes a path as a JSON pointer in a fragment (RFC 6901, section 6): `#/items/0/price`. */
export function toPointer(path: readonly string[]): string {
  const keys = path.map(key => encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ['#', ...keys].join('/')
}

const textLimit = 3

/**
 * Writes the first issues as one line: `Too small (items.0.price); Too long (name); and 4 more`. A message that follows
 * `password:` would be masked as its value.
 */
export function describeIssues({ issues, omitted }: ReadableIssues): string {
  const texts = issues
    .slice(0, textLimit)
    .map(({ message, path }) => (path.length === 0 ? message : `${message} (${path.join('.')})`))
  const rest = issues.length + omitted - texts.length
  return [...texts, ...(rest === 0 ? [] : [`and ${rest} more`])].join('; ')
}
