import { type Finding, linkToFinding, linkToPlace, writeAdvice, writeProblem } from '../insight/findings/finding.ts'
import { summarizeProfile } from '../insight/overview/overview.ts'
import { toPlainText } from '../insight/overview/sentence.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { exportKindsOf, exportLink, profileDataLink, profileLink } from '../profile/links.ts'
import type { ProfileSummary } from '../profile/profile.ts'
import { partsOf } from '../subjects/views.ts'

function toPublicOverview(shown: ShownProfile) {
  const { parts, sentence, usual } = summarizeProfile(shown)
  const { before = null, count, median, p95, since = null, start: startedAt = null } = usual
  const { token } = shown.profile.summary
  return {
    sentence: toPlainText(sentence),
    parts: parts.map(({ kind, label, place, time }) => {
      return { kind, label, duration: time / 1000, link: linkToPlace(place, token) }
    }),
    usual: { count, median, p95, before, since, startedAt },
    sinceEdit: shown.sinceEdit === undefined ? null : { ...shown.sinceEdit, before: shown.sinceEdit.before.token },
  }
}

/** The JSON of a finding, which `docs/reference/profile.md` describes. */
export type PublicFinding = ReturnType<typeof toPublicFinding>

/** Creates the JSON of a finding; `token` is that of its profile. */
export function toPublicFinding(finding: Finding, token: string) {
  const { code = null, evidence, rule, severity, title } = finding
  const link = linkToFinding(finding, token)
  return { rule, title, severity, problem: writeProblem(finding), advice: writeAdvice(finding), evidence, code, link }
}

/** Creates the JSON of a profile; with a panel, `data` and `process` contain only what the panel shows. */
export function toJson(shown: ShownProfile, panel?: string) {
  const { children, findings, isPinned, parent, profile } = shown
  const { data, failures, processData, schemaVersion, summary } = profile
  const { token } = summary
  const relate = (token: string, found: ProfileSummary | undefined) => ({
    token,
    link: profileDataLink(token, 'json'),
    summary: found ?? null,
  })
  return {
    schemaVersion,
    summary,
    overview: toPublicOverview(shown),
    isPinned,
    parent: summary.parent === null ? null : relate(summary.parent, parent),
    children: profile.children.map(token =>
      relate(
        token,
        children.find(child => child.token === token),
      ),
    ),
    data: select(data, panel),
    process: select(processData, panel),
    failures,
    findings: findings.map(finding => toPublicFinding(finding, token)),
    links: {
      self: profileDataLink(token, 'json', panel),
      html: profileLink(token, panel),
      markdown: profileDataLink(token, 'md', panel),
      exports: Object.fromEntries(exportKindsOf(profile).map(kind => [kind, exportLink(token, kind)])),
    },
  }
}

function select(data: Readonly<Record<string, unknown>>, panel: string | undefined): Readonly<Record<string, unknown>> {
  if (panel === undefined) return data
  const names = partsOf(panel)
  return Object.fromEntries(Object.entries(data).filter(([name]) => names.includes(name)))
}
