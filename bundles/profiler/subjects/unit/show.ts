import { formatTree } from '../../../../lib/redact/value-tree.ts'
import { toBlock } from '../../export/markdown-text.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { formatBytes, formatDuration, formatNumber, formatPlace, TreeViewer } from '../../profile/format.ts'
import { unitOf } from '../../profile/units.ts'
import type { UnitData } from './data.ts'

/** What work that is no request was given, and what it has returned. */
export const unitView: SubjectView = {
  name: 'unit',
  label: 'Input / Result',
  template: 'profiler/panels/unit',
  hasContent: ({ profile }) => profile.collectors.unit !== undefined,

  toView({ profile }) {
    const { input, result, ...data } = profile.collectors.unit ?? {}
    const viewer = new TreeViewer()
    return {
      noun: unitOf(profile.summary).noun,
      facts: listFacts(data),
      input: input !== undefined && viewer.view(input, true),
      result: result !== undefined && viewer.view(result, true),
    }
  },

  toMarkdown({ profile }) {
    const { unit } = profile.collectors
    if (unit === undefined) return []
    const { input, result } = unit
    const facts = listFacts(unit).map(({ name, value }) => `- ${name}: ${value}`)
    return [
      `## ${unitView.label}`,
      facts.join('\n'),
      ...(input === undefined ? [] : ['### Input', toBlock(formatTree(input))]),
      ...(result === undefined ? [] : ['### Result', toBlock(formatTree(result))]),
    ].filter(block => block !== '')
  },
}

/** The facts of work as pairs. Those that are not known are left out. */
function listFacts({
  exit,
  exitCode,
  isCut,
  job,
  message,
  open = [],
  signal,
}: UnitData): readonly { readonly name: string; readonly value: string }[] {
  const { attempt = 0, attempts, id = '', queue = '', waited } = job ?? {}
  const of = attempts === undefined ? '' : ` of ${formatNumber(attempts)}`
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['Queue', queue],
    ['Job', id],
    ['Attempt', attempt === 0 ? '' : `${formatNumber(attempt)}${of}`],
    ['Waited in the queue', waited === undefined ? '' : formatDuration(waited)],
    ['Event', message?.event ?? ''],
    ['Connection', message?.connection ?? ''],
    ['Size', message?.bytes === undefined ? '' : formatBytes(message.bytes)],
    ['Exit code', exitCode === undefined ? '' : String(exitCode)],
    ['Ended at', exit === undefined ? '' : formatPlace(exit)],
    ['Signal', signal ?? ''],
    [
      'End',
      isCut
        ? `not recorded: ${signal ?? 'a signal such as SIGKILL, or the lack of memory,'} ends a process at once`
        : '',
    ],
    ['Left open', open.join(', ')],
  ]
  return facts.flatMap(([name, value]) => (value === '' ? [] : { name, value }))
}
