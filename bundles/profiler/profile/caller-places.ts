import type { CodePlace } from '../../../lib/stack/callers.ts'
import type { CallerPlace } from '../../../lib/stack/choose-places.ts'
import { formatPlace } from './format.ts'

/** Writes the place of a caller in words: `shop/list.ts:12`, `list:223 via q:219`, or `in list:12`; empty if it is not known. */
export function formatCaller(caller: CallerPlace): string {
  const { isIn, via = [] } = caller
  if (isIn) return `in ${nameFrame(caller)}`
  return via.length === 0 ? formatPlace(caller) : `${nameFrame(caller)} via ${via.map(nameFrame).join(', ')}`
}

/** Names a frame by its function and line: `list:223`; without a function by its file. */
export function nameFrame({ file = '', function: name, line }: CodePlace): string {
  // An inline controller has a name of two words.
  const short = name?.replace(/ \[as .*\]$/, '').replace(/^controller /, '')
  return formatPlace({ file: short || file.replace(/^.*[\\/]/, ''), line })
}
