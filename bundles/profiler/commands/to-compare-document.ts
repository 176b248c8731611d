import type { Block, Document } from '../../../lib/console/document.ts'
import type { Column } from '../../../lib/console/table.ts'
import { compareProfiles } from '../compare/compare-profiles.ts'
import { type Verdict, writeChanges } from '../compare/judge-comparison.ts'
import { type Delta, toCompareView } from '../pages/to-compare-view.ts'
import type { Profile } from '../profile.ts'

/** What is told of two records, and the verdict that it begins with. */
export interface CompareDocument {
  readonly document: Document
  readonly verdict: Verdict
}

/** Makes what is told of two records: the verdict, then what is different, part by part. */
export function toCompareDocument(first: Profile, second: Profile): CompareDocument {
  const comparison = compareProfiles(first, second)
  const { parts, records, verdict } = toCompareView(first, second, comparison)
  const { asked, changes, isSame, title } = verdict
  const blocks: Block[] = [
    { kind: 'text', text: isSame ? title : `${title} ${writeChanges(changes)}.`, tone: isSame ? 'ok' : 'warning' },
    ...(asked.length === 0 ? [] : [{ kind: 'text', text: `Asked another way: ${writeChanges(asked)}.` } as const]),
    { kind: 'fields', fields: records.map(record => [record.name, describe(record)]) },
    ...parts.flatMap(toBlocks),
  ]
  const json = { verdict, first: first.summary, second: second.summary, comparison }
  return { document: { blocks, json }, verdict }
}

type View = ReturnType<typeof toCompareView>

function describe({ duration, method, role, statusText, target, token }: View['records'][number]): string {
  return [token, statusText, `${method} ${target}`, duration, ...(role === '' ? [] : [role])].join('  ')
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
    ...(delta ? [{ text: [delta.text, delta.share].join(' ').trim(), tone: toneOf(delta) }] : []),
  ])
  return [{ kind: 'table', table: { columns, rows: texts } }]
}

function toneOf({ bar, tone }: Delta): 'muted' | 'ok' | 'warning' {
  if (!bar) return 'muted'
  return tone === 'slower' ? 'warning' : 'ok'
}

function oneLine(text: string): string {
  return text.replace(/\n/g, '; ')
}
