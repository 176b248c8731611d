import { formatTree } from '../../../lib/redact/value-tree.ts'
import { formatDuration, formatNumber } from '../profile/format.ts'
import {
  describeSchema,
  describeValidation,
  inputNames,
  receivedAt,
  type ValidationData,
} from '../profile/validation-data.ts'
import { type Section, toBlock, toList, toSpan } from './markdown-text.ts'

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
