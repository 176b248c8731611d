import type { Headers } from '../../../../lib/http/headers.ts'
import { type CopyBounds, MaskingCopier } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import type { Pairs } from '../../profile/schema.ts'

/** Of one table of a panel: nobody reads more of it. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 4096, total: 16_384 }

/**
 * Creates what copies one group of values (the headers, say) for a profile: masked, six levels deep, 500 entries, 4,096
 * characters of each text and 16,384 in all. Errors are told by class and message.
 */
export function createCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, bounds)
}

/** What the profiler itself says of times: never twice the same, so it would be searched anew each time, and no secret. */
const ownTiming =
  /^profile;desc="[\da-f]{6}"(?:, (?:total|kernel|ctrl|tpl|http);desc="[A-Z][A-Za-z ]{1,30}";dur=[\d.]{1,16})+$/

/**
 * Copies headers for a profile: masked, but cookies keep their names and how they are set. It is done for each request
 * twice, so names, in which no secret can be recognised (RFC 9110, section 5.6.2), are taken as they are.
 */
export function copyHeaders(headers: Headers, copier: MaskingCopier): Pairs {
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
    // The profiler's own: new in each response, and no secret.
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

/** Whatever a cookie is called, whoever sends it may be somebody by it. */
function maskCookie(pair: string): string {
  // Without a name it is all value.
  const name = pair.slice(0, pair.indexOf('=') + 1)
  return pair === name ? pair : `${name}${mask}`
}

/** Hides the value and keeps how the cookie is set, which is what goes wrong. */
function maskSetCookie(field: string, copier: MaskingCopier): string {
  const end = field.indexOf(';')
  return copier.text(end === -1 ? maskCookie(field) : `${maskCookie(field.slice(0, end))}${field.slice(end)}`)
}
