import { encodeMultipart, parseParameters } from '../../../lib/body/multipart.ts'
import { mask } from '../../../lib/redact/secret-names.ts'
import { readFormParts } from '../format/form-parts.ts'
import { formatCount } from '../format/format-count.ts'
import { formatSize, formatText } from '../format/format-soft.ts'
import { serializeForm } from '../format/serialize-form.ts'
import { asList, asObject, asObjects } from '../reading/read-soft.ts'

/** What of a request's body can be sent once more. */
export interface PlannedBody {
  /** Whether there was a body, and how much of it is known. */
  readonly state: 'none' | 'whole' | 'partial' | 'missing'
  /** What is sent unless something else is supplied. */
  readonly content: string
  /** What of it is not as it was, as a sentence; empty when it is whole. */
  readonly note: string
}

/** Stands where a copy was cut. */
const ellipsis = '…'

/** Plans the body of a replay; `contentType` is the header with its parameters. */
export function planBody(data: unknown, contentType: string): PlannedBody {
  const body = asObject(data)
  const files = asObjects(body.files)
  const form = asList(body.form)
  const json = asList(body.json)
  if (Object.keys(body).length === 0 || body.length === 0) return { state: 'none', content: '', note: '' }
  if (json.length > 0) return describe(String(JSON.stringify(json[0])), [])
  if (body.type === 'multipart/form-data' || files.length > 0) {
    const boundary = parseParameters(contentType)?.get('boundary')
    if (boundary === undefined || (form.length === 0 && files.length === 0)) return missing(body)
    const lost = files.length === 0 ? [] : [`${formatCount(files.length, 'file')} will be empty: no content is kept.`]
    return describe(encodeMultipart(boundary, readFormParts(body)).toString(), lost)
  }
  return form.length > 0 ? describe(serializeForm(form), []) : missing(body)
}

function describe(content: string, lost: readonly string[]): PlannedBody {
  const decoded = content.replaceAll(encodeURIComponent(ellipsis), ellipsis)
  const notes = [
    ...lost,
    ...(content.includes(mask) ? [`Secrets in it are masked: each stands as ${mask}.`] : []),
    ...(decoded.includes(ellipsis) ? [`It may have been cut where ${ellipsis} stands.`] : []),
  ]
  return { state: notes.length === 0 ? 'whole' : 'partial', content, note: notes.join(' ') }
}

function missing({ length, state, type }: Readonly<Record<string, unknown>>): PlannedBody {
  const facts = [formatText(type), formatSize(length)].filter(fact => fact !== '')
  const name = `The body${facts.length === 0 ? '' : ` (${facts.join(', ')})`}`
  const reason = state === 'unread' ? ' The application had not read it.' : ''
  return { state: 'missing', content: '', note: `${name} was not kept: nothing is sent in its place.${reason}` }
}
