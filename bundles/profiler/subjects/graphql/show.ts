import { toList, toSpan } from '../../export/markdown-text.ts'
import { toBar } from '../../panels/parts.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { formatDuration, formatNumber } from '../../profile/format.ts'
import { countFor, type Period, periodOf } from '../../profile/work.ts'
import { type ResolvedField, readFields } from './read.ts'

/** The fields with a resolver of their own: how often each was called, and how long its calls took. */
export const graphqlView: SubjectView = {
  name: 'graphql',
  label: 'GraphQL',
  template: 'profiler/panels/graphql',
  hasContent: ({ profile }) => readFields(profile).fields.length > 0,

  badge({ profile }) {
    const { fields } = readFields(profile)
    const count = fields.reduce((sum, { failed }) => sum + failed, 0)
    return countFor({ count, text: '', tone: 'error' }, countCalls(fields))
  },

  toView({ profile }) {
    const { calls, fields, omitted } = readFields(profile)
    const whole = { start: 0, duration: profile.summary.duration }
    return {
      fields: fields.map(viewField),
      calls: calls.map(call => viewCall(call, whole)),
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

function viewCall(call: ResolvedField, whole: Period) {
  const { end, field, hasFailed, index, path, start } = call
  const problem = hasFailed ? 'failed' : end === undefined ? 'not finished' : ''
  return {
    id: `field-${index}`,
    isPlain: true,
    lead: `+${formatDuration(start)}`,
    field,
    path,
    problem,
    tone: problem && (hasFailed ? 'error' : 'warning'),
    facts: [{ text: end === undefined ? '' : formatDuration(end - start) }],
    bars: [{ kind: 'field', ...toBar(periodOf(call), whole) }],
  }
}
