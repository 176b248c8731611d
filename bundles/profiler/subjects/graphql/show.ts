import { toList, toSpan } from '../../export/markdown-text.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { formatDuration, formatNumber } from '../../profile/format.ts'
import { type ResolvedField, readFields } from './read.ts'

/** The fields with a resolver of their own: how often each was called, and how long its calls took. */
export const graphqlView: SubjectView = {
  name: 'graphql',
  label: 'GraphQL',
  template: 'profiler/panels/graphql',
  hasContent: ({ profile }) => readFields(profile).fields.length > 0,

  badge({ profile }) {
    const { fields } = readFields(profile)
    const hasFailed = fields.some(({ failed }) => failed > 0)
    return { text: fields.length === 0 ? '' : formatNumber(countCalls(fields)), level: hasFailed ? 'error' : 'plain' }
  },

  toView({ profile }) {
    const { calls, fields, omitted } = readFields(profile)
    return {
      fields: fields.map(viewField),
      calls: calls.map(viewCall),
      count: formatNumber(countCalls(fields)),
      omitted: omitted === 0 ? '' : formatNumber(omitted),
    }
  },

  nothing: 'No field of GraphQL was resolved.',

  toMarkdown({ profile }, limit) {
    const { fields } = readFields(profile)
    if (fields.length === 0) return []
    const list = toList(fields.map(viewField), limit, ({ count, failed, longest, name, time }) =>
      [`${toSpan(name)}: ${count} ×`, failed && `${failed} failed`, time, `the longest ${longest}`]
        .filter(part => part !== '')
        .join(', '),
    )
    return [`## ${graphqlView.label}`, list]
  },

  toEntries: profile =>
    readFields(profile).calls.map(({ field, index, path }) => ({
      group: 'Field',
      label: path,
      hint: field,
      anchor: `field-${index}`,
    })),
}

type Field = ReturnType<typeof readFields>['fields'][number]

function countCalls(fields: readonly Field[]): number {
  return fields.reduce((sum, { count }) => sum + count, 0)
}

function viewField({ count, failed, longest, name, time }: Field) {
  return {
    name,
    count: formatNumber(count),
    failed: failed === 0 ? '' : formatNumber(failed),
    longest: formatDuration(longest),
    time: formatDuration(time),
  }
}

function viewCall({ end, field, hasFailed, index, path, start }: ResolvedField) {
  return {
    index,
    field,
    path,
    start: `+${formatDuration(start)}`,
    duration: end === undefined ? '' : formatDuration(end - start),
    problem: hasFailed ? 'failed' : end === undefined ? 'not finished' : '',
    level: hasFailed ? 'error' : 'warning',
  }
}
