import type { Severity } from '../../../kernel/profiler-contract.ts'
import { type Finding, linkToFinding, writeProblem } from '../insight/findings/finding.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { type ExportKind, exportKinds, exportLink, recordDataLink, recordLink } from '../profile/links.ts'
import type { Profile, ProfileSummary } from '../profile/profile.ts'
import type { JsonObject } from '../profile/schema.ts'

/** A record as programs read it; `docs/reference/profile.md` describes it, field by field. */
interface PublicProfile extends Pick<Profile, 'schemaVersion' | 'summary' | 'failures'> {
  readonly isPinned: boolean
  readonly parent: RelatedProfile | null
  readonly children: readonly RelatedProfile[]
  /** What each collector has told of the request, by its name. */
  readonly data: Profile['data']
  /** What each collector has told of the process, by its name. */
  readonly process: JsonObject
  /** What could be better about the request, the worst first. */
  readonly findings: readonly PublicFinding[]
  readonly links: ProfileLinks
}

/** Something that could be better. */
export interface PublicFinding {
  /** Its entry in `docs/reference/findings.md`. */
  readonly rule: string
  readonly title: string
  readonly severity: Severity
  readonly problem: string
  readonly advice: string
  readonly evidence: Readonly<Record<string, number>>
  /** Where it can be seen. */
  readonly link: string
}

/** Makes the public shape of a finding of the record of a token. */
export function toPublicFinding(finding: Finding, token: string): PublicFinding {
  const { advice, evidence, rule, severity, title } = finding
  const link = linkToFinding(finding, token)
  return { rule, title, severity, problem: writeProblem(finding), advice, evidence, link }
}

/** Another record that a record names; its summary is `null` when it is gone. */
interface RelatedProfile {
  readonly token: string
  readonly link: string
  readonly summary: ProfileSummary | null
}

/** Paths below the origin of the server. */
interface ProfileLinks {
  readonly self: string
  readonly html: string
  readonly markdown: string
  readonly exports: Readonly<Record<ExportKind, string>>
}

/** Makes the public shape of a record; with a panel, only the data which that shows is in it. */
export function toJson(subject: ShownProfile, panel?: string): PublicProfile {
  const { children, findings, isPinned, parent, profile } = subject
  const { data, failures, processData, schemaVersion, summary } = profile
  const { token } = summary
  const relate = (token: string, found: ProfileSummary | undefined): RelatedProfile => ({
    token,
    link: recordDataLink(token, 'json'),
    summary: found ?? null,
  })
  return {
    schemaVersion,
    summary,
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
      self: recordDataLink(token, 'json', panel),
      html: recordLink(token, panel),
      markdown: recordDataLink(token, 'md', panel),
      exports: linkExports(token),
    },
  }
}

function select(data: Readonly<Record<string, unknown>>, panel: string | undefined): Readonly<Record<string, unknown>> {
  if (panel === undefined) return data
  const names = collectorsOfPanel(panel)
  return Object.fromEntries(Object.entries(data).filter(([name]) => names.includes(name)))
}

function linkExports(token: string): ProfileLinks['exports'] {
  // Each kind has its link.
  return Object.fromEntries(exportKinds.map(kind => [kind, exportLink(token, kind)])) as ProfileLinks['exports']
}

/** The collectors that a panel shows the data of, where it is not the one of its own name alone. */
const collectors: ReadonlyMap<string, readonly string[]> = new Map([
  ['request', ['request', 'response', 'session', 'redirects', 'server']],
  ['time', ['time', 'events']],
  ['config', ['config', 'server']],
  ['findings', ['late']],
])

/** Names the collectors whose data a panel shows. Those of other bundles have the name of their panel. */
export function collectorsOfPanel(panel: string): readonly string[] {
  return collectors.get(panel) ?? [panel]
}
