import type { RuleFinding } from '../../../kernel/profiler-contract.ts'
import { recordLink } from '../links.ts'

/** Where a finding of a record can be seen: what it points at, else the panel of all findings. */
export function linkToFinding({ place }: RuleFinding, token: string): string {
  if (place === undefined) return recordLink(token, 'findings')
  const { anchor, panel, token: other = token } = place
  return `${recordLink(other, panel)}${anchor === undefined ? '' : `#${anchor}`}`
}
