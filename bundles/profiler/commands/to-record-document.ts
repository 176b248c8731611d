import type { Block, Document } from '../../../lib/console/document.ts'
import type { Cell } from '../../../lib/console/table.ts'
import { type Finding, tellProblem, toneOf } from '../findings/finding.ts'
import { toSummaryView } from '../pages/to-summary-view.ts'
import type { Profile } from '../profile.ts'
import { toPublicFinding } from '../renderings/to-json.ts'

/** Makes what is told of a record: its summary, its findings and the names of its panels, or what stands in one of them. */
export function toRecordDocument(profile: Profile, findings: readonly Finding[], panel?: string): Document {
  const found = findings.map(finding => toPublicFinding(finding, profile.summary.token))
  if (panel === 'findings') return { blocks: findings.length === 0 ? [nothing] : toBlocks(findings), json: found }
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
  const blocks: Block[] = [{ kind: 'fields', fields: fields.filter(([, value]) => value !== '') }]
  if (findings.length > 0) blocks.push({ kind: 'title', text: 'Findings' }, ...toBlocks(findings))
  return { blocks, json: { ...profile, findings: found } }
}

const nothing: Block = { kind: 'text', text: 'Nothing to improve was found.' }

function toBlocks(findings: readonly Finding[]): Block[] {
  return findings.map(finding => {
    const { advice, severity, title } = finding
    const fields: [string, Cell][] = [
      [severity, { text: title, tone: toneOf(finding) }],
      ['problem', tellProblem(finding)],
      ['advice', advice],
    ]
    return { kind: 'fields', fields }
  })
}
