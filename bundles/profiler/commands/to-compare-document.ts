import type { Block, Document } from '../../../lib/console/document.ts'
import type { Column } from '../../../lib/console/table.ts'
import { compareProfiles } from '../compare/compare-profiles.ts'
import { toCompareView } from '../pages/to-compare-view.ts'
import type { Profile } from '../profile.ts'

/** Makes what is told of two records: what is different in them, part by part. */
export function toCompareDocument(first: Profile, second: Profile): Document {
  const comparison = compareProfiles(first, second)
  const { isSame, parts, records } = toCompareView(first, second, comparison)
  const blocks: Block[] = [
    { kind: 'fields', fields: records.map(record => [record.name, describe(record)]) },
    ...parts.flatMap(toBlocks),
  ]
  if (isSame) blocks.push({ kind: 'text', text: 'Both have done the same.', tone: 'ok' })
  return { blocks, json: { first: first.summary, second: second.summary, comparison } }
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
