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

/** Lets a request be followed no more: its events, logs and calls belong to no profile. */
export function detachPass(request: Request): void {
  const recorded: Request & Recorded = request
  delete recorded[passKey]
}

/** The pass of a request, when it is recorded. */
export function findPass(request: Request): Pass | undefined {
  const recorded: Request & Recorded = request
  return recorded[passKey]
}

/**
 * Removes a pass, wherever it stands. V8's sets leave tables behind that know their successors: one that has got old keeps
 * all the later ones, with every pass in them, from the garbage collector's quick rounds, which doubles what those cost.
 */
export function removeFrom(passes: Pass[], pass: Pass): void {
  const at = passes.indexOf(pass)
  if (at !== -1) passes.splice(at, 1)
}

/** A pass, its parent, and so on up to its main request. */
export function withAncestors(pass: Pass | undefined): Pass[] {
  return pass === undefined ? [] : [pass, ...withAncestors(pass.parent)]
}

/** Children before their parents: whoever reads backwards sees a parent first. */
export function withDescendants(pass: Pass): Pass[] {
  return pass.children.length === 0 ? [pass] : [...pass.children.flatMap(withDescendants), pass]
}
