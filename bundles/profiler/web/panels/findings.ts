import { writeFindingPrompt } from '../../export/conclusions.ts'
import {
  type Finding,
  linkToFinding,
  splitSentence,
  toBadge,
  toneOf,
  writeProblem,
} from '../../insight/findings/finding.ts'
import type { Inspector } from '../../insight/findings/inspector.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { idOf } from '../../insight/replay/judge-fix.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { profileLink } from '../../profile/links.ts'
import type { EditorLinks } from '../editor-links.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../toolbar/toolbar-items.ts'
import type { PanelModel, ProfilePanel } from './panel.ts'
import { viewVerification } from './parts.ts'

/** Creates the panel of findings; `labelOf` gives the label of a panel by its name. */
export function createFindingsPanel(
  inspector: Inspector,
  labelOf: (panel: string) => string | undefined,
  editor: EditorLinks,
): ProfilePanel {
  const toView = createFindingView(labelOf, editor)
  return {
    name: 'findings',
    label: 'Findings',
    template: 'profiler/panels/findings',
    hasContent: profile => inspector.inspect(profile).length > 0,
    badge(profile) {
      const findings = inspector.inspect(profile)
      return { text: findings.length === 0 ? '' : String(findings.length), level: toneOfAll(findings) }
    },
    toView({ profile }) {
      const findings = inspector.inspect(profile)
      const speaking = new Set(findings.map(({ rule }) => rule))
      const { rules } = inspector
      return {
        findings: findings.map(finding => toView(finding, { findings, profile })),
        count: rules.length,
        silent: rules.filter(({ name }) => !speaking.has(name)).map(({ name, title }) => ({ name, title })),
      }
    },
  }
}

/** Creates the function that makes the view of a finding for the template `profiler/finding`. */
export function createFindingView(
  labelOf: (panel: string) => string | undefined,
  editor: EditorLinks,
): (finding: Finding, shown: Pick<ShownProfile, 'findings' | 'profile'>) => PanelModel {
  return (finding, shown) => {
    const { token } = shown.profile.summary
    const { code, place, severity, title } = finding
    const named = finding.values?.['place-0']
    const line = code && (named === undefined ? editor.view(code) : editor.viewName(named, code))
    const advice = splitSentence('advice', finding).map(part => ({ ...part, isCode: part.text === line?.place }))
    return {
      title,
      severity,
      tone: toneOf(finding),
      problem: splitSentence('problem', finding),
      advice,
      link: place === undefined ? '' : linkToFinding(finding, token),
      label: place === undefined ? '' : (labelOf(place.panel) ?? place.panel),
      record: place?.token ?? '',
      code: line ?? false,
      isCodeNamed: advice.some(({ isCode }) => isCode),
      prompt: writeFindingPrompt(finding, shown.profile),
      verification: viewVerification(shown.profile, idOf(finding, shown.findings)),
    }
  }
}

function toneOfAll(findings: readonly Finding[]): ReturnType<typeof toneOf> {
  const [worst] = findings
  return worst === undefined ? 'plain' : toneOf(worst)
}

/** Creates the item of findings; `undefined` without any. */
export function toFindingItem(
  { findings }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const badge = toBadge(findings)
  if (badge === undefined) return undefined
  const link = profileLink(token, 'findings')
  const toRow = (finding: Finding) =>
    row(finding.title, cutText(writeProblem(finding)), {
      link: linkToFinding(finding, token),
      tone: toneOf(finding),
      place: editor.viewCaller(finding.code),
    })
  return item('findings', 'Findings', {
    ...badge,
    link,
    rows: limitRows(findings.map(toRow), link),
  })
}
