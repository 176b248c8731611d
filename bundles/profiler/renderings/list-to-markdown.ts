import { formatDuration } from '../format/format-duration.ts'
import { formatMoment } from '../format/format-soft.ts'
import type { ListedRecord, PublicList } from './list-to-json.ts'
import { toList, toSpan } from './markdown/text.ts'

/** Writes what a search has found as Markdown: an item a record. Nothing that was recorded can become structure. */
export function listToMarkdown({ links, notes, records, total }: PublicList): string {
  const parts = [
    `# ${records.length.toLocaleString('en')} of ${total.toLocaleString('en')} records`,
    toList(notes, notes.length, toSpan),
    toList(records, records.length, writeRecord),
    ...(links.next === null ? [] : [`More: ${toSpan(links.next.replace('.json', '.md'))}`]),
  ]
  return `${parts.filter(part => part !== '').join('\n\n')}\n`
}

function writeRecord({ isPinned, isStored, summary }: ListedRecord): string {
  const { duration, errors, exception, method, outcome, parent, route, status, time, token, url, warnings } = summary
  const facts = [
    `${toSpan(token)} ${status === 0 ? 'no response' : status} ${toSpan(`${method} ${url}`)}`,
    formatDuration(duration),
    formatMoment(time),
    ...(route === null ? [] : [`route ${toSpan(route)}`]),
    ...(exception === null ? [] : [toSpan(exception)]),
    ...(outcome === 'complete' ? [] : [outcome]),
    ...(errors === 0 ? [] : [`errors: ${errors}`]),
    ...(warnings === 0 ? [] : [`warnings: ${warnings}`]),
    ...(parent === null ? [] : [`sub-request of ${toSpan(parent)}`]),
    ...(isPinned ? ['pinned'] : []),
    ...(isStored ? [] : ['not stored']),
  ]
  return facts.join('; ')
}
