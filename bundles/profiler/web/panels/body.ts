import { type BodyData, serializeForm } from '../../profile/content.ts'
import { formatSize, type Row, type TreeView, TreeViewer, toPairRows, valueTreeLimit } from '../../profile/format.ts'
import type { PanelModel } from './panel.ts'

/** The body of a request as a panel shows it. */
export interface BodyView {
  readonly form: readonly Row[]
  readonly files: readonly PanelModel[]
  /** Parts that do not exist are empty. `message` says why there is no content. */
  readonly content: {
    readonly size: string
    readonly tree: TreeView | false
    readonly raw: string
    readonly message: string
    /** Whether there was no body, or nothing in it. */
    readonly isEmpty: boolean
  }
}

/** Makes the view of a request's body: fields, files, and the content as far as it was recorded. */
export function viewBody(body: BodyData | undefined): BodyView {
  const { files = [], form = [], json } = body ?? {}
  const size = [body?.type || 'no content type', formatSize(body?.length) || 'of unknown length'].join(', ')
  return {
    form: toPairRows(form),
    files: files.map(file => ({ ...file, size: formatSize(file.size) })),
    content: {
      size: body === undefined ? '' : size,
      tree: json !== undefined && new TreeViewer(valueTreeLimit).viewJson(json[0], true),
      raw: json === undefined ? serializeForm(form) : String(JSON.stringify(json[0])),
      message: body === undefined ? noContent : messageOf(body),
      isEmpty: body === undefined || messageOf(body) === noContent,
    },
  }
}

const noContent = 'No request content. The body of a form or of JSON appears here.'

/** Why there is no content; empty when there is some. */
function messageOf({ files = [], form = [], json, note, state }: BodyData): string {
  if (state === 'parent') return 'The body is in the profile of the parent request.'
  if (state === 'unread')
    return 'The application did not read the body: only the type and length that the client sent are known.'
  if (state === 'broken') return 'The body is incomplete or invalid.'
  if (note !== undefined) return note
  if (files.length > 0) return 'Files are never stored; the form fields are above.'
  return form.length > 0 || json !== undefined ? '' : noContent
}
