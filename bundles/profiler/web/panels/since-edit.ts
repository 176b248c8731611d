import type { EditChange } from '../../insight/since-edit/edit-changes.ts'
import { describeTimes, type SinceEdit } from '../../insight/since-edit/since-edit.ts'
import { type FormattedTime, formatCount, formatTime } from '../../profile/format.ts'
import { compareLink, profileLink } from '../../profile/links.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'

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
