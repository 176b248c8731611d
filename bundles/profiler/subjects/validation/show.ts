import { formatTree } from '../../../../lib/redact/value-tree.ts'
import { toBlock, toList, toSpan, writeRest } from '../../export/markdown-text.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { cutText, item, limitRows, row } from '../../panels/toolbar-items.ts'
import { formatCount, formatDuration, formatNumber, shorten, TreeViewer } from '../../profile/format.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import type { ValidationData } from './data.ts'
import { countIssues, describeSchema, describeValidation, inputNames, receivedAt } from './read.ts'

/** The inputs that schemas have validated, in their order: result, issues, and the values as they were received. */
export const validationView: SubjectView = {
  name: 'validation',
  label: 'Validation',
  template: 'profiler/panels/validation',
  hasContent: ({ profile }) => validationsOf(profile).length > 0,

  badge({ profile }) {
    const count = countAllIssues(profile)
    return { text: count === 0 ? '' : formatNumber(count), level: levelOfRefusal(profile) }
  },

  toView({ profile }) {
    const { omitted = 0 } = profile.collectors.validation ?? {}
    const viewer = new TreeViewer()
    return {
      responseLink: `${profileLink(profile.summary.token, 'request')}#response`,
      omitted: omitted === 0 ? '' : formatNumber(omitted),
      validations: validationsOf(profile).map((validation, index) => ({
        index,
        ...describe(validation),
        level: levelOf(validation, profile),
        input: viewer.view(validation.input, true),
      })),
    }
  },

  nothing: 'No schema has validated the input.',

  toMarkdown({ profile }, limit) {
    const { omitted = 0 } = profile.collectors.validation ?? {}
    const validations = validationsOf(profile)
    if (validations.length === 0) return []
    return [`## ${validationView.label}`, ...validations.flatMap(each => write(each, limit)), ...writeRest(omitted)]
  },

  toItems({ profile, summary }) {
    const count = countAllIssues(profile)
    if (count === 0) return []
    const link = profileLink(summary.token, 'validation')
    const rows = validationsOf(profile)
      .map(describe)
      .flatMap(({ issues, name }, index) =>
        issues.map(({ field, message }) =>
          row(field || name, cutText(message), { link: `${link}#validation-${index}` }),
        ),
      )
    return [
      item(validationView, {
        order: 60,
        text: formatCount(count, 'issue'),
        tone: 'warning',
        link,
        rows: limitRows(rows, link),
      }),
    ]
  },
}

function validationsOf({ collectors }: Profile): readonly ValidationData[] {
  return collectors.validation?.validations ?? []
}

/** Refused input is an error if the request was answered with one. */
function levelOfRefusal({ summary }: Profile): 'warning' | 'error' {
  return summary.status < 400 ? 'warning' : 'error'
}

function levelOf({ error, issues }: ValidationData, profile: Profile): string {
  if (error !== undefined) return 'error'
  return issues.length > 0 ? levelOfRefusal(profile) : 'plain'
}

function countAllIssues(profile: Profile): number {
  return validationsOf(profile).reduce((sum, validation) => sum + countIssues(validation), 0)
}

/** Characters of a received value. The input has all of it. */
const valueLimit = 100

/** The facts of a validation. Those that are not known are empty. */
function describe(validation: ValidationData) {
  const { end, error = '', issues, omittedIssues, source, start } = validation
  return {
    name: inputNames[source],
    result: describeValidation(validation),
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
    isRefused: issues.length > 0,
  }
}

function write(validation: ValidationData, limit: number): string[] {
  const { duration, error, issues, name, omitted, result, schema } = describe(validation)
  const list = toList(issues, limit, ({ field, message, received }) =>
    [field && `${toSpan(field)}: `, toSpan(message), received && `, received ${toSpan(received)}`].join(''),
  )
  return [
    `${name}: ${result} by ${toSpan(schema)}${duration && `, took ${duration}`}`,
    ...(error === '' ? [] : [`The schema has thrown ${toSpan(error)}`]),
    ...(list === '' ? [] : [list]),
    ...(omitted === '' ? [] : [`${omitted} more issues.`]),
    toBlock(formatTree(validation.input)),
  ]
}
