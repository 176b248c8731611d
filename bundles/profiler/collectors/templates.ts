import type { Redactor } from '../../../lib/redact/redactor.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'
import { roundTime } from '../recording/round-time.ts'

const keyLength = 100

/** Tells which templates were rendered, within one another, and how long that took. */
export function createTemplatesCollector(redactor: Redactor): ProfileCollector {
  const mask = (key: string) => redactor.text(key).slice(0, keyLength)
  return {
    name: 'templates',
    tellsLate: true,
    collect({ renders }) {
      if (renders === undefined) return undefined
      return {
        renders: renders.renders.map(render =>
          render.keys === undefined ? render : { ...render, keys: render.keys.map(mask) },
        ),
        omitted: renders.omitted,
        waited: roundTime(renders.waited),
      }
    },
  }
}
