import type { Overview } from '../../insight/overview/overview.ts'
import type { ShownProfile } from '../../insight/relatives.ts'
import { describeTimes, type EditChange, listClaims, type SinceEdit } from '../../insight/since-edit.ts'
import type { SummaryView } from '../../insight/summary-view.ts'
import { type FormattedTime, formatCount, formatTime } from '../../profile/format.ts'
import { compareLink, profileLink } from '../../profile/links.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import { cutText, item, limitRows, row, type ToolbarItem } from '../toolbar/toolbar-items.ts'

/** The content of the template `profiler/since-edit`. */
export interface SinceEditView {
  /** The first edited files. */
  readonly files: readonly PlaceView[]
  /** `3 more files`; empty if all are listed. */
  readonly more: string
  readonly since: FormattedTime
  readonly time: EditChange
  readonly rows: readonly EditChange[]
  readonly isSameUrl: boolean
  readonly before: { readonly token: string; readonly link: string }
  readonly compareLink: string
}

const fileLimit = 5

/** Creates the view of what has changed since an edit; `token` is that of the profile. */
export function viewSinceEdit(sinceEdit: SinceEdit, token: string, editor: EditorLinks): SinceEditView {
  const { before, changes, files, isSameUrl, time, times } = sinceEdit
  return {
    files: files.slice(0, fileLimit).map(file => editor.viewName(file, { file })),
    more: files.length > fileLimit ? formatCount(files.length - fileLimit, 'more file') : '',
    since: formatTime(time),
    time: describeTimes(times),
    rows: [describeTimes(times), ...changes],
    isSameUrl,
    before: { token: before.token, link: profileLink(before.token) },
    compareLink: compareLink(before.token, token),
  }
}

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
  const left = claims.length - shownClaims
  const link = `${profileLink(token, 'overview')}#since-edit`
  const texts = claims.slice(0, shownClaims).map(({ text }) => text)
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

/** The texts in the bar. */
export const shownClaims = 2
