import { createCallCurl } from '../../export/curl.ts'
import { coveredCallTime, durationOf, phasesOf, readCalls, type StoredCall } from '../../profile/calls.ts'
import { formatBytes, formatDuration, shorten } from '../../profile/format.ts'
import { formatText } from '../../profile/format-value.ts'
import type { Period } from '../../profile/periods.ts'
import type { EditorLinks } from '../editor-links.ts'
import { toBar } from './bar.ts'
import { viewContent } from './content.ts'
import type { ProfilePanel } from './panel.ts'

/** Creates the panel of the HTTP client calls. */
export function createHttpPanel(editor: EditorLinks): ProfilePanel {
  return {
    name: 'http',
    label: 'HTTP Client',
    template: 'profiler/panels/http',

    hasContent: profile => readCalls(profile).calls.length > 0,

    badge(profile) {
      const { calls, omitted } = readCalls(profile)
      return {
        text: calls.length === 0 ? '' : String(calls.length + omitted),
        level: calls.some(({ outcome }) => outcome.level === 'error') ? 'error' : 'plain',
      }
    },

    toView({ profile }) {
      const { calls, omitted } = readCalls(profile)
      const ended = calls.filter(({ end }) => end !== undefined)
      const whole = spanOf(calls)
      const room = { left: pageLimit }
      return {
        isEmpty: calls.length === 0,
        count: calls.length + omitted,
        omitted,
        failed: calls.filter(({ error }) => error !== '').length,
        unfinished: calls.length - ended.length,
        repeated: calls.filter(({ twin }) => twin !== undefined).length,
        sum: formatDuration(ended.reduce((sum, call) => sum + durationOf(call), 0)),
        covered: formatDuration(coveredCallTime(ended)),
        from: formatDuration(whole.start),
        until: formatDuration(whole.start + whole.duration),
        calls: calls.map(call => ({ ...toRow(call, whole, editor), messages: viewMessages(call, room) })),
      }
    },
  }
}

/** Characters of the messages of all calls on one page. The exports have all of them. */
const pageLimit = 24_000
const contentLimit = 4_000

/** The request and the response of a call, as far as the page has room. */
function viewMessages({ index, request, response }: StoredCall, room: { left: number }) {
  return [
    { title: 'Request', name: 'request', message: request },
    { title: 'Response', name: 'response', message: response },
  ].flatMap(({ message, name, title }) => {
    if (message === undefined || room.left <= 0) return []
    const headers = message.headers.map(([name, value]) => `${name}: ${formatText(value)}`).join('\n')
    const limit = Math.min(contentLimit, room.left)
    const content = message.content && viewContent(message.content, `call-${name}-${index}`, '', limit)
    room.left -= headers.length + (content?.size ?? 0)
    return [{ title, headers, content }]
  })
}

/** The period from the first known moment of a call to the last. */
function spanOf(calls: readonly StoredCall[]): Period {
  const start = Math.min(...calls.map(({ start }) => start))
  const times = calls.flatMap(({ end, head, sent, start, uploaded }) => [start, sent, uploaded, head, end])
  const end = Math.max(...times.filter(time => time !== undefined))
  return calls.length === 0 ? { start: 0, duration: 0 } : { start, duration: Math.max(0, end - start) }
}

function toRow(call: StoredCall, whole: Period, editor: EditorLinks) {
  const { bytes, client, end, error, index, method, outcome, start, twin } = call
  const phases = phasesOf(call)
  const known = phases.length > 0 ? phases : [{ name: 'whole', start, duration: durationOf(call) }]
  return {
    index,
    number: index + 1,
    client,
    method,
    ...foldUrl(call.url),
    outcome: outcome.text,
    level: outcome.level,
    error,
    twin: twin === undefined ? '' : `same as ${twin + 1}`,
    twinIndex: twin,
    start: formatDuration(start),
    time: end === undefined ? '' : formatDuration(durationOf(call)),
    phases: phases.map(({ name, duration }) => ({ name, time: formatDuration(duration) })),
    bars: known.map(({ name, ...period }) => ({ name, ...toBar(period, whole) })),
    bytes: bytes === undefined ? '' : `${call.isCounted ? '≈ ' : ''}${formatBytes(bytes)}`,
    caller: editor.view(call.caller),
    command: createCallCurl(call),
  }
}

const urlLimit = 160

/** A long URL is folded. */
function foldUrl(url: string): { readonly url: string; readonly lead: string } {
  return { url, lead: url.length <= urlLimit ? '' : shorten(url, urlLimit) }
}
