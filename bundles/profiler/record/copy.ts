import type { Headers } from '../../../lib/http/headers.ts'
import { type CopyBounds, MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'
import { mask } from '../../../lib/redact/secret-names.ts'
import type { Pairs } from '../profile/schema.ts'

/** Entries of one table of a panel. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 4096, total: 16_384 }

/** The headers of all HTTP client calls of a request. */
const callBounds: CopyBounds = { depth: 1, entries: 4000, text: 4096, total: 65_536 }

/** Creates the copier of the headers of all HTTP client calls of a request. */
export function createCallCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, callBounds)
}

/**
 * Creates the copier of one group of values, such as the headers: masked, six levels deep, 500 entries, 4,096
 * characters of each text and 16,384 in all. Errors are copied as class and message.
 */
export function createCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, bounds)
}

/**
 * Headers of the profiler itself. Their values change with each response and are no secret, so they are not searched.
 */
const ownTiming =
  /^profile;desc="(?:[\da-f]{6}){1,2}"(?:, method;desc="[A-Z]{1,20}"|, (?:total|kernel|ctrl|tpl|http);desc="[A-Z][A-Za-z ]{1,30}";dur=[\d.]{1,16})+$/

/**
 * Copies headers for a profile: values are masked, cookies keep their names and attributes. Names are copied as they
 * are: a secret is not recognised in a name (RFC 9110, section 5.6.2), and this runs twice for each request.
 */
export function copyHeaders(headers: Pick<Headers, 'toRaw'>, copier: MaskingCopier): Pairs {
  const fields = headers.toRaw()
  const copies: Pairs[number][] = []
  for (let at = 0; at < fields.length; at += 2) {
    const [name, value] = copier.isSpent() ? ['…', '…'] : [fields[at] as string, fields[at + 1] as string]
    copies.push([name, copyValue(name, value, copier)])
    if (name === '…') break
  }
  return copies
}

function copyValue(name: string, value: string, copier: MaskingCopier): unknown {
  switch (name.toLowerCase()) {
    case 'cookie':
      return copier.text(value.split(';').map(maskCookie).join(';'))
    case 'set-cookie':
      return maskSetCookie(value, copier)
    // A header of the profiler itself.
    case 'x-debug-token':
    case 'x-debug-token-link':
    case 'x-previous-debug-token':
      return value
    case 'server-timing':
      return ownTiming.test(value) ? value : copier.value(name, value)
    default:
      return copier.value(name, value)
  }
}

/** The value of any cookie may identify its client. */
function maskCookie(pair: string): string {
  // A pair without a name is a value.
  const name = pair.slice(0, pair.indexOf('=') + 1)
  return pair === name ? pair : `${name}${mask}`
}

/** Masks the value, and keeps the attributes. */
function maskSetCookie(field: string, copier: MaskingCopier): string {
  const end = field.indexOf(';')
  return copier.text(end === -1 ? maskCookie(field) : `${maskCookie(field.slice(0, end))}${field.slice(end)}`)
}
