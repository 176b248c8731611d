import type { PlacedTrace, TraceNode } from '../../../insight/timeline/services.ts'
import { formatMicroseconds } from '../../../profile/format.ts'
import { toPairRows, toValueRow } from '../../../profile/format-value.ts'
import type { Profile } from '../../../profile/profile.ts'
import type { ReceivedSpan } from '../../../profile/span-data.ts'

/** The most spans in the table. */
const rowLimit = 200

/** The trace of a request as its template shows it; `false` for a request without a trace. */
export function toTraceView(profile: Profile, { callers, inner, others }: PlacedTrace): object | false {
  const { traceId } = profile.collectors.request ?? {}
  if (traceId === undefined) return false
  const received = [...callers, ...inner].flatMap(node =>
    node.span === undefined ? [] : toRow(node, node.span, profile),
  )
  return {
    id: traceId,
    callers: callers.map(node => ({
      ...toNames(node),
      link: node.link,
      time: formatMicroseconds(node.end - node.start),
    })),
    others,
    count: received.length,
    omitted: Math.max(0, received.length - rowLimit),
    spans: received.slice(0, rowLimit),
  }
}

function toNames({ hasFailed, name, service }: TraceNode) {
  return { name, service: service || 'this application', hasFailed }
}

function toRow(node: TraceNode, { attributes, error, kind }: ReceivedSpan, { summary }: Profile) {
  const start = node.start - summary.time * 1000
  return {
    ...toNames(node),
    id: node.id,
    kind,
    error,
    // A caller begins before the request.
    start: `${start < 0 ? '−' : ''}${formatMicroseconds(Math.abs(start))}`,
    duration: formatMicroseconds(node.end - node.start),
    attributes: toPairRows(attributes).map(toValueRow),
  }
}
