import { type ExportKind, exportKinds, exportLink, recordDataLink, recordLink } from '../links.ts'
import type { ProcessFacts, Profile, ProfileSummary } from '../profile.ts'
import { collectorsOfPanel } from './collectors-of-panel.ts'
import type { RecordSubject } from './record-subject.ts'

/** A record as programs read it; `docs/reference/profile.md` describes it, field by field. */
export interface PublicRecord extends Pick<Profile, 'schemaVersion' | 'summary' | 'failures'> {
  readonly isPinned: boolean
  readonly parent: RelatedRecord | null
  readonly children: readonly RelatedRecord[]
  /** What each collector has told of the request, by its name. */
  readonly data: Profile['data']
  /** What each collector has told of the process, by its name. */
  readonly process: ProcessFacts
  readonly links: RecordLinks
}

/** Another record that a record names; its summary is `null` when it is gone. */
export interface RelatedRecord {
  readonly token: string
  readonly link: string
  readonly summary: ProfileSummary | null
}

/** Paths below the origin of the server. */
export interface RecordLinks {
  readonly self: string
  readonly html: string
  readonly markdown: string
  readonly exports: Readonly<Record<ExportKind, string>>
}

/** Makes the public shape of a record; with a panel, only the data which that shows is in it. */
export function toJson({ children, facts, isPinned, parent, profile }: RecordSubject, panel?: string): PublicRecord {
  const { data, failures, schemaVersion, summary } = profile
  const { token } = summary
  const relate = (token: string, found: ProfileSummary | undefined): RelatedRecord => ({
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
    process: select(facts, panel),
    failures,
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

function linkExports(token: string): RecordLinks['exports'] {
  // Each kind has its link.
  return Object.fromEntries(exportKinds.map(kind => [kind, exportLink(token, kind)])) as RecordLinks['exports']
}
