import { formatTree } from '../../../../lib/redact/value-tree.ts'
import { type Section, toBlock, toList, toSpan } from '../../export/markdown-text.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { formatCount, formatDuration, formatNumber, shorten, TreeViewer } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { PanelModel, ProfilePanel } from '../../web/panels/panel.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../../web/toolbar/toolbar-items.ts'
import { countIssues, describeSchema, describeValidation, inputNames, receivedAt, type ValidationData } from './data.ts'

/** Characters of a received value in a table. */
const valueLimit = 100

/** The panel of the inputs that schemas have validated, in their order. */
export const validationPanel: ProfilePanel = {
  name: 'validation',
  label: 'Validation',
  template: 'profiler/panels/validation',
  hasContent: profile => validationsOf(profile).length > 0,
  badge(profile) {
    const count = validationsOf(profile).reduce((sum, validation) => sum + countIssues(validation), 0)
    return { text: count === 0 ? '' : formatNumber(count), level: 'warning' }
  },
  toView({ profile }) {
    const { omitted = 0 } = profile.collectors.validation ?? {}
    const viewer = new TreeViewer()
    return {
      omitted: omitted === 0 ? '' : formatNumber(omitted),
      validations: validationsOf(profile).map((validation, index) => toSection(validation, index, viewer)),
    }
  },
}

function validationsOf({ collectors }: Profile): readonly ValidationData[] {
  return collectors.validation?.validations ?? []
}

function toSection(validation: ValidationData, index: number, viewer: TreeViewer): PanelModel {
  const { end, error = '', input, issues, omittedIssues, source, start } = validation
  return {
    index,
    name: inputNames[source],
    result: describeValidation(validation),
    level: error !== '' ? 'error' : issues.length > 0 ? 'warning' : 'plain',
    schema: describeSchema(validation),
    start: `+${formatDuration(start)}`,
    duration: end === undefined ? '' : formatDuration(end - start),
    error,
    issues: issues.map(({ message, path }) => ({
      field: path.join('.'),
      message,
      received: shorten(receivedAt(validation, path), valueLimit),
    })),
    omitted: omittedIssues === 0 ? '' : formatNumber(omittedIssues),
    input: viewer.view(input, true),
    isRefused: issues.length > 0,
  }
}

/** The inputs that schemas have validated: result, issues, and the values as they were received. */
export const validationSection: Section = {
  panel: 'validation',
  nothing: 'No schema has validated the input.',
  write({ profile }, limit) {
    const { omitted = 0, validations = [] } = profile.collectors.validation ?? {}
    if (validations.length === 0) return []
    return [
      '## Validation',
      ...validations.flatMap(validation => writeValidation(validation, limit)),
      ...(omitted === 0 ? [] : [`${formatNumber(omitted)} more were not recorded.`]),
    ]
  },
}

function writeValidation(validation: ValidationData, limit: number): string[] {
  const { end, error, input, issues, omittedIssues, source, start } = validation
  const time = end === undefined ? '' : `, took ${formatDuration(end - start)}`
  const head = `${inputNames[source]}: ${describeValidation(validation)} by ${toSpan(describeSchema(validation))}${time}`
  const list = toList(issues, limit, ({ message, path }) => {
    const received = receivedAt(validation, path)
    const field = path.length === 0 ? '' : `${toSpan(path.join('.'))}: `
    return `${field}${toSpan(message)}${received === '' ? '' : `, received ${toSpan(received)}`}`
  })
  return [
    head,
    ...(error === undefined ? [] : [`The schema has thrown ${toSpan(error)}`]),
    ...(list === '' ? [] : [list]),
    ...(omittedIssues === 0 ? [] : [`${formatNumber(omittedIssues)} more issues.`]),
    toBlock(formatTree(input)),
  ]
}

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
