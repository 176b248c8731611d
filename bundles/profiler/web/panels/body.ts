import type { ViewModel } from '../../../../lib/view/view.ts'
import { serializeForm } from '../../profile/form-body.ts'
import { formatSize, formatText, formatValue, type Row, toPairRows } from '../../profile/format-value.ts'
import { asList, asObject, asObjects } from '../../profile/read-soft.ts'

/** A request's body as a panel shows it. */
export interface BodyView {
  readonly form: readonly Row[]
  readonly files: readonly ViewModel[]
  /** Empty is what there is not; `message` says why there is nothing to be seen. */
  readonly content: { readonly size: string; readonly pretty: string; readonly raw: string; readonly message: string }
}

/** What a panel shows of a request's body: fields, files, and the content, as far as it was kept. */
export function viewBody(data: unknown): BodyView {
  const body = asObject(data)
  const size = [formatText(body.type) || 'no content type', formatSize(body.length) || 'of unknown length'].join(', ')
  const [json] = asList(body.json)
  const form = asList(body.form)
  const isJson = asList(body.json).length > 0
  return {
    form: toPairRows(body.form),
    files: asObjects(body.files).map(viewFile),
    content: {
      size: Object.keys(body).length === 0 ? '' : size,
      pretty: isJson ? formatValue(json) : '',
      raw: isJson ? String(JSON.stringify(json)) : serializeForm(form),
      message: messageOf(body),
    },
  }
}

/** Why there is no content to be seen; empty when there is. */
function messageOf({ files, form, json, note, state }: Readonly<Record<string, unknown>>): string {
  if (state === 'parent') return 'The body is in the profile of the parent request.'
  if (state === 'unread')
    return 'The application did not read the body: only the type and length that the client sent are known.'
  if (state === 'broken') return 'The body is incomplete or invalid.'
  if (note !== undefined) return formatText(note)
  if (asList(files).length > 0) return 'Files are never stored; the form fields are above.'
  if (asList(form).length + asList(json).length > 0) return ''
  return 'No request content. The body of a form or of JSON appears here.'
}

function viewFile({ field, name, size, type }: Readonly<Record<string, unknown>>): ViewModel {
  return { field: formatText(field), name: formatText(name), type: formatText(type), size: formatSize(size) }
}
