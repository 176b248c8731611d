import { type CopyBounds, MaskingCopier } from '../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../lib/redact/redactor.ts'

/** Of one table of a panel: nobody reads more of it. */
const bounds: CopyBounds = { depth: 6, entries: 500, text: 4096, total: 16_384 }

/**
 * Creates what copies one group of values (the headers, say) for a profile: masked, six levels deep, 500 entries, 4,096
 * characters of each text and 16,384 in all. Errors are told by class and message.
 */
export function createCopier(redactor: Redactor): MaskingCopier {
  return new MaskingCopier(redactor, bounds)
}
