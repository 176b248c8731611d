import { flattenError } from '../errors/flatten.ts'
import { isClientError } from '../errors/http-error.ts'
import { type CopyBounds, MaskingCopier } from '../redact/masking-copier.ts'
import type { Redactor } from '../redact/redactor.ts'
import { readProperty } from '../stack/read-property.ts'
import { type LogError, toLogError } from './log-error.ts'
import type { LogContext } from './logger.ts'

const bounds: CopyBounds = { depth: 6, entries: 500, text: 2048 }

/**
 * Copies a context into plain data: masked, six levels deep, 500 entries in all, texts of at most 2,048 characters; `…`
 * stands for what is left out. Errors come with their stacks, instances of other classes are only named. Getters and
 * `toJSON` are not called.
 */
export function copyContext(context: LogContext, redactor: Redactor): Record<string, unknown> {
  try {
    return new MaskingCopier(redactor, bounds, copyError).record(context)
  } catch {
    // A proxy may throw; the message still deserves its record.
    return { '…': 'The context could not be read.' }
  }
}

function copyError(error: object, mask: (text: string) => string): LogError {
  // Where a client's mistake was noticed is no news, and reading a stack is costly.
  const hasFrames = !isClientError(Number(readProperty(error, 'status')))
  return toLogError(flattenError(error, { hasFrames }), mask)
}
