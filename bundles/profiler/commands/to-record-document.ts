import type { Document } from '../../../lib/console/document.ts'
import type { Cell } from '../../../lib/console/table.ts'
import { toSummaryView } from '../pages/to-summary-view.ts'
import type { Profile } from '../profile.ts'

/** Makes what is told of a record: its summary and the names of its panels, or what stands in one of them. */
export function toRecordDocument(profile: Profile, panel?: string): Document {
  if (panel !== undefined) {
    const data = profile.data[panel]
    return { blocks: [{ kind: 'code', language: 'json', text: JSON.stringify(data, null, 2) }], json: data }
  }
  const {
    address,
    badges,
    controller,
    duration,
    ip,
    memory,
    method,
    outcome,
    parent,
    route,
    statusText,
    time,
    token,
    tone,
  } = toSummaryView(profile.summary)
  const fields: [string, Cell][] = [
    ['Request', { text: `${method} ${address}`, tone: 'strong' }],
    ['Response', { text: statusText, tone }],
    ['Outcome', outcome],
    ['Route', route],
    ['Controller', controller],
    ['Duration', duration],
    ['Memory', memory],
    ['Time', time.iso],
    ['Client', ip],
    ['Notes', badges.map(({ text }) => text).join(', ')],
    ['Token', token],
    ['Made by', parent],
    ['Sub-requests', profile.children.join(', ')],
    ['Panels', Object.keys(profile.data).join(', ')],
    ...Object.entries(profile.failures).map(([name, text]): [string, Cell] => [name, { text, tone: 'error' }]),
  ]
  return { blocks: [{ kind: 'fields', fields: fields.filter(([, value]) => value !== '') }], json: profile }
}
