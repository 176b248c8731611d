import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Block, Column, Document } from '../../../lib/console/document.ts'
import { compareProfiles } from '../insight/compare/comparison.ts'
import { findPredecessors, likenessOf } from '../insight/compare/find-previous.ts'
import { type Verdict, writeChanges } from '../insight/compare/judge-comparison.ts'
import { findRestart } from '../insight/edits.ts'
import type { Profile } from '../profile/profile.ts'
import type { ProfileStorage } from '../store/profile-storage.ts'
import { type Delta, toCompareView } from '../web/pages/compare-view.ts'
import { findRecord, missing, tokenArgument } from './find-profile.ts'

/** Creates the command that compares two profiles. */
export function createProfilerCompare(storage: ProfileStorage): ConsoleCommand {
  return {
    name: 'profiler:compare',
    description: 'Compares two profiles',
    arguments: [
      tokenArgument(storage, { name: 'a' }),
      tokenArgument(storage, {
        name: 'b',
        description: 'the other profile; by default the previous profile of the same request',
        isOptional: true,
      }),
    ],
    examples: [
      { line: 'profiler:compare 1a2b3c 4d5e6f', purpose: 'compares two profiles' },
      { line: 'profiler:compare latest', purpose: 'compares the latest request with the previous one' },
    ],
    async run({ arguments: { a = '', b } }, output) {
      const named = await findRecord(storage, a)
      if (named === undefined) {
        output.error(missing(a))
        return exitCodes.failure
      }
      const { previous } = await findPredecessors(storage, named.profile.summary)
      const other = await findRecord(storage, b ?? previous?.token ?? a)
      if (other === undefined || (b === undefined && previous === undefined)) {
        output.error(b === undefined ? `There is no earlier profile of the same request as "${a}".` : missing(b))
        return exitCodes.failure
      }
      const [first, second] = b === undefined ? [other.profile, named.profile] : [named.profile, other.profile]
      output.print((await compareStored(storage, first, second)).document)
      return exitCodes.success
    },
  }
}

/** The comparison of two profiles as a document, and the verdict at its beginning. */
export interface CompareDocument {
  readonly document: Document
  readonly verdict: Verdict
}

/** Compares two stored profiles. Writes the verdict, then the differences, part by part. */
export async function compareStored(
  storage: Pick<ProfileStorage, 'search'>,
  first: Profile,
  second: Profile,
): Promise<CompareDocument> {
  const { spread } = await findPredecessors(storage, second.summary)
  const comparison = compareProfiles(first, second, spread)
  const likeness = likenessOf(first.summary, second.summary)
  const { parts, records, restart, verdict } = toCompareView(first, second, comparison)
  const { asked, changes, isSame, title } = verdict
  const blocks: Block[] = [
    {
      kind: 'text',
      text: isSame ? `${title}.` : `${title}: ${writeChanges(changes)}.`,
      tone: isSame ? 'ok' : 'warning',
    },
    { kind: 'text', text: `Compared: ${likeness}.` },
    ...(asked.length === 0 ? [] : [{ kind: 'text', text: `Request differs: ${writeChanges(asked)}.` } as const]),
    ...(restart === false ? [] : [{ kind: 'text', text: describeRestart(restart) } as const]),
    { kind: 'fields', fields: records.map(record => [record.name, describe(record)]) },
    ...parts.flatMap(toBlocks),
  ]
  const json = {
    verdict,
    likeness,
    restart: findRestart(first, second) ?? null,
    first: first.summary,
    second: second.summary,
    comparison,
  }
  return { document: { blocks, json }, verdict }
}

type View = ReturnType<typeof toCompareView>

function describe({ duration, method, role, statusText, target, token }: View['records'][number]): string {
  return [token, statusText, `${method} ${target}`, duration, ...(role === '' ? [] : [role])].join('  ')
}

function describeRestart({ changed, time }: Exclude<View['restart'], false>): string {
  const files = changed.length === 0 ? '' : `, after edits of ${changed.join(', ')}`
  return `The server restarted in between, at ${time.day}, ${time.clock} UTC${files}.`
}

/** Equal rows are left out. */
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
