import { writeFinding, writeFindingPrompt } from '../export/conclusions.ts'
import { toList } from '../export/markdown-text.ts'
import { idOf } from '../insight/compare/judge-fix.ts'
import {
  type Finding,
  linkToFinding,
  splitSentence,
  toBadge,
  toneOf,
  writeProblem,
} from '../insight/findings/finding.ts'
import { profileLink } from '../profile/links.ts'
import { profilerRules } from '../subjects/rules.ts'
import { workKinds } from '../subjects/work.ts'
import { viewVerification } from './parts.ts'
import type { Inspected, PanelModel, PanelServices, SubjectView } from './subject-view.ts'
import { cutText, item, limitRows, row } from './toolbar-items.ts'

/** The findings, with advice. */
export const findingsView: SubjectView = {
  name: 'findings',
  label: 'Findings',
  template: 'profiler/panels/findings',
  stored: ['late', 'within'],
  hasContent: ({ findings }) => findings.length > 0,

  badge({ findings: { 0: worst, length } }) {
    return { text: length === 0 ? '' : String(length), level: worst === undefined ? 'plain' : toneOf(worst) }
  },

  async toView(shown, app) {
    const { findings } = shown
    const rules = [...profilerRules, ...app.findingRules]
    const speaking = new Set(findings.map(({ rule }) => rule))
    return {
      findings: await viewFindings(findings, shown, app),
      count: rules.length,
      silent: rules.filter(({ name }) => !speaking.has(name)).map(({ name, title }) => ({ name, title })),
    }
  },

  nothing: 'No issues found.',

  toMarkdown({ findings, profile: { summary } }, limit) {
    if (findings.length === 0) return []
    return ['## Findings', toList(findings, limit, finding => writeFinding(finding, summary.token))]
  },

  toItems({ editor, findings, summary: { token } }) {
    const badge = toBadge(findings)
    if (badge === undefined) return []
    const link = profileLink(token, 'findings')
    const rows = findings.map(finding =>
      row(finding.title, cutText(writeProblem(finding)), {
        link: linkToFinding(finding, token),
        tone: toneOf(finding),
        place: editor.viewCaller(finding.code),
      }),
    )
    return [item(findingsView, { order: 80, ...badge, link, rows: limitRows(rows, link) })]
  },
}

/** What the panel of a finding shows: its kind of work, else the panel itself. */
function nameDetails(panel: string, label = panel): string {
  const kind = workKinds.find(each => each.panel === panel)
  return kind === undefined ? (panel === 'exception' ? 'the stack trace' : `in ${label}`) : `the ${kind.nouns[1]}`
}

/** Makes the views of findings, of which there may be more, for the template `profiler/finding`. */
export async function viewFindings(
  found: readonly Finding[],
  shown: Inspected,
  { editor, panels }: Pick<PanelServices, 'editor' | 'panels'>,
): Promise<PanelModel[]> {
  const { token } = shown.profile.summary
  const labels = new Map((await panels()).map(({ label, name }) => [name, label]))
  return found.map(finding => {
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
      label: place === undefined ? '' : nameDetails(place.panel, labels.get(place.panel)),
      record: place?.token ?? '',
      code: line ?? false,
      isCodeNamed: advice.some(({ isCode }) => isCode),
      prompt: writeFindingPrompt(finding, shown.profile),
      verification: viewVerification(shown.profile, idOf(finding, shown.findings)),
    }
  })
}
