import { tellProblem } from '../../findings/finding.ts'
import type { ProfileCheck } from '../profile-check.ts'
import { examineCount, toEnumeration, withCount } from './counting.ts'

/** Could something be better about it, by any rule or by this one: at all, or so many times? */
export function checkFindings(rule: string | undefined, wanted: number | undefined): ProfileCheck {
  return {
    claim: withCount(`have findings${rule === undefined ? '' : ` of the rule ${rule}`}`, wanted),
    panel: 'findings',
    examine({ findings }) {
      const matching = findings.filter(finding => rule === undefined || finding.rule === rule)
      const lines = findings.map(finding => `${finding.rule} (${tellProblem(finding)})`)
      const found = lines.length === 0 ? 'it had none' : `it had ${toEnumeration(lines)}`
      return examineCount({ wanted, actual: matching.length, found })
    },
  }
}
