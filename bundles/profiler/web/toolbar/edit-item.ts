import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { listClaims } from '../../insight/since-edit/since-edit.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { formatCount } from '../../profile/format.ts'
import { compareLink, profileLink } from '../../profile/links.ts'
import type { EditorLinks } from '../editor-links.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from './toolbar-items.ts'

/** The texts in the bar. */
const textLimit = 2

/** Creates the item of what has changed since the last edit of files; `undefined` if nothing has. */
export function toEditItem(
  { sinceEdit }: ShownProfile,
  { token }: SummaryView,
  _: Overview,
  editor: EditorLinks,
): ToolbarItem | undefined {
  const claims = sinceEdit === undefined ? [] : listClaims(sinceEdit)
  const [worst] = claims
  if (sinceEdit === undefined || worst === undefined) return undefined
  const { before, files } = sinceEdit
  const [file = '', ...others] = files
  const edited = others.length === 0 ? file : `${file} and ${formatCount(others.length, 'other file')}`
  const left = claims.length - textLimit
  const link = `${profileLink(token, 'overview')}#since-edit`
  const texts = claims.slice(0, textLimit).map(({ text }) => text)
  return item('edit', 'Since your edit', {
    pill: 'edit',
    text: [...texts, ...(left > 0 ? [`${left} more`] : [])].join(', '),
    tone: worst.tone,
    link,
    rows: [
      row('Edited', '', { place: editor.viewName(cutText(edited), { file }) }),
      ...limitRows(
        claims.map(({ before, name, now, tone }) => row(name, cutText(`${before} → ${now}`), { tone })),
        link,
      ),
      row('Before', before.token, { link: compareLink(before.token, token) }),
    ],
  })
}
