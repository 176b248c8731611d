import { formatTree } from '../../../../lib/redact/value-tree.ts'
import { type Finding, linkToFinding, toBadge, toneOf, writeProblem } from '../../insight/findings/finding.ts'
import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { formatCount, shorten, toOneLine } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import { readLogs, severityOf } from '../../profile/logs.ts'
import { countIssues, inputNames } from '../../profile/validation-data.ts'
import type { EditorLinks } from '../editor-links.ts'
import { cutText, item, itemRowLimit, limitRows, row, type ToolbarItem } from './toolbar-items.ts'

/** Creates the item of logged errors and warnings; `undefined` without any. */
export function toLogItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { errors, warnings } = profile.summary
  if (errors + warnings === 0) return undefined
  const link = profileLink(token, 'logger')
  const records = readLogs(profile)
    .logs.map(log => ({ tone: severityOf(log.level), ...log }))
    .filter(({ tone }) => tone !== 'plain')
  const counts = [errors > 0 && formatCount(errors, 'error'), warnings > 0 && formatCount(warnings, 'warning')]
  return item('logger', 'Logs', {
    text: counts.filter(Boolean).join(', '),
    tone: errors > 0 ? 'error' : 'warning',
    link,
    rows: limitRows(
      records.map(({ caller, index, level, message, tone }) =>
        row(level, cutText(message), { link: `${link}#log-${index}`, tone, place: editor.viewCaller(caller) }),
      ),
      `${link}&level=warning`,
      errors + warnings - itemRowLimit,
    ),
  })
}

/** Creates the item of dumps; `undefined` without any. */
export function toConsoleItem(
  { profile }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const { dumps } = profile.summary
  if (dumps === 0) return undefined
  const { entries = [] } = profile.collectors.console ?? {}
  const link = profileLink(token, 'console')
  return item('console', 'Console', {
    text: formatCount(dumps, 'dump'),
    link,
    rows: limitRows(
      entries.map(({ label, method, site, values }, index) => {
        const text = values.map(value => toOneLine(formatTree(value))).join(' ')
        return row(label ?? method, shorten(text, rowLimit), {
          link: `${link}#dump-${index}`,
          place: editor.viewCaller(site),
        })
      }),
      link,
      dumps - itemRowLimit,
    ),
  })
}

/** Characters of a value in a row. */
const rowLimit = 100

/** Creates the item of the issues of refused inputs; `undefined` without any. */
export function toValidationItem({ profile }: ShownProfile, { token }: SummaryView): ToolbarItem | undefined {
  const { validations = [] } = profile.collectors.validation ?? {}
  const count = validations.reduce((sum, validation) => sum + countIssues(validation), 0)
  if (count === 0) return undefined
  const link = profileLink(token, 'validation')
  const rows = validations.flatMap(({ issues, source }, index) =>
    issues.map(({ message, path }) =>
      row(path.join('.') || inputNames[source], cutText(message), { link: `${link}#validation-${index}` }),
    ),
  )
  return item('validation', 'Validation', {
    text: formatCount(count, 'issue'),
    tone: 'warning',
    link,
    rows: limitRows(rows, link),
  })
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
