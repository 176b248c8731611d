import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Block } from '../../../lib/console/document.ts'
import type { Column } from '../../../lib/console/table.ts'
import { findPrevious } from '../pages/find-previous.ts'
import type { toCompareView } from '../pages/to-compare-view.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { findRecord, missing, tokenArgument } from './find-record.ts'

/** Creates the command that tells what is different in two records. */
export function createProfilerCompare(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:compare',
    description: 'Tells what is different in two records',
    arguments: [
      tokenArgument(storage, { name: 'a' }),
      tokenArgument(storage, {
        name: 'b',
        description: 'the other record; without it, a is compared with the one before it that asked for the same',
        isOptional: true,
      }),
    ],
    examples: [
      { line: 'profiler:compare 1a2b3c 4d5e6f', purpose: 'compares two records' },
      { line: 'profiler:compare latest', purpose: 'compares the latest request with the one before it' },
    ],
    async run({ arguments: { a: word, b } }, output) {
      const a = String(word)
      const named = await findRecord(storage, a)
      if (named === undefined) {
        output.error(missing(a))
        return exitCodes.failure
      }
      const before = b === undefined ? await findPrevious(storage, named.profile.summary) : undefined
      const other = await findRecord(storage, b ?? before?.token ?? a)
      if (other === undefined || (b === undefined && before === undefined)) {
        output.error(b === undefined ? `There is no record before "${a}" that asked for the same.` : missing(b))
        return exitCodes.failure
      }
      const [first, second] = b === undefined ? [other.profile, named.profile] : [named.profile, other.profile]
      const [{ compareProfiles }, { toCompareView }] = await Promise.all([
        import('../compare/compare-profiles.ts'),
        import('../pages/to-compare-view.ts'),
      ])
      const comparison = compareProfiles(first, second)
      const { isSame, parts, records } = toCompareView(first, second, comparison)
      const blocks: Block[] = [
        { kind: 'fields', fields: records.map(record => [record.name, describe(record)]) },
        ...parts.flatMap(toBlocks),
      ]
      if (isSame) blocks.push({ kind: 'text', text: 'Both have done the same.', tone: 'ok' })
      output.print({ blocks, json: { first: first.summary, second: second.summary, comparison } })
      return exitCodes.success
    },
  }
}

type View = ReturnType<typeof toCompareView>

function describe({ duration, method, statusText, target, token }: View['records'][number]): string {
  return `${token}  ${statusText}  ${method} ${target}  ${duration}`
}

/** What is the same is not told. */
function toBlocks({ hasDeltas, rows, title }: View['parts'][number]): Block[] {
  if (rows.length === 0) return []
  const values = hasDeltas ? ({ align: 'right' } as const) : {}
  const columns: Column[] = [{ title }, { title: 'A', ...values }, { title: 'B', ...values }]
  if (hasDeltas) columns.push({ title: 'Difference', align: 'right', cut: 'never' })
  const texts = rows.map(({ delta, first, label, name, note, second }) => [
    note === '' ? name : `${name} (${note})`,
    oneLine(first) || (label && '–'),
    oneLine(second) || (label && '–'),
    ...(delta ? [{ text: delta.text, tone: delta.tone === 'slower' ? 'warning' : 'ok' } as const] : []),
  ])
  return [{ kind: 'table', table: { columns, rows: texts } }]
}

function oneLine(text: string): string {
  return text.replace(/\n/g, '; ')
}
