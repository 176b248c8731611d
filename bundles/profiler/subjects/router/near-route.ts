import { cut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import type { NearRoute } from '../../../../lib/routing/nearest-routes.ts'

const textLimit = 500

/** Masks the reason why a route was not taken: it may have a condition's source in it, and words of the client's. */
export function maskNearRoute(near: NearRoute, redactor: Redactor): NearRoute {
  // Of most routes it is one and the same constant sentence.
  if (near.reason === 'path') return near
  const text = near.reason === 'condition' ? redactor.source(near.text) : redactor.text(near.text)
  return { ...near, text: cut(text, textLimit) }
}
