import type { Request } from '../../../lib/http/request.ts'
import type { Pass } from './pass.ts'

/**
 * Where a request carries its pass. A WeakMap of requests would do the same, but its values survive the garbage collector's
 * quick rounds, each with all that is noted on it: that costs as much as all recording together.
 */
const passKey: unique symbol = Symbol('pass')

interface Recorded {
  [passKey]?: Pass
}

/** Lets a request be followed from now on. */
export function attachPass(request: Request, pass: Pass): void {
  const recorded: Request & Recorded = request
  recorded[passKey] = pass
}

/** The pass of a request, when it is recorded. */
export function findPass(request: Request): Pass | undefined {
  const recorded: Request & Recorded = request
  return recorded[passKey]
}
