import type { FindingRule } from '../../../../kernel/profiler-contract.ts'
import { isCompressible } from '../../../../lib/http/compression.ts'
import { formatBytes } from '../../format/format-bytes.ts'
import type { Profile } from '../../profile.ts'
import { readHeader } from '../../reading/read-headers.ts'
import { asNumber, asObject } from '../../reading/read-soft.ts'

/** Bytes that are sent before the client has to confirm any (RFC 6928, section 2): less arrives as soon in full length. */
const leastSize = 14_600

/** Finds long responses of text that were sent as they are to a client that takes them compressed. */
export const uncompressedResponseRule: FindingRule<Profile> = {
  name: 'uncompressed-response',
  title: 'Response not compressed',
  find({ data, summary }) {
    const { contentType, method, parent, status } = summary
    const size = asNumber(asObject(data.response).size)
    const isWhole = method !== 'HEAD' && status === 200 && parent === null
    if (!isWhole || size < leastSize || !isCompressible(contentType) || !isMissed(data)) return []
    return [
      {
        severity: 'warning',
        problem: `${formatBytes(size)} of {type} were sent as they are, though the client takes them compressed.`,
        values: { type: String(contentType) },
        advice: 'Leave content-length and digests away, or compress it yourself: then it is a fraction of that.',
        place: { panel: 'request', anchor: 'header-content-type' },
        evidence: { size },
      },
    ]
  },
}

/** Whoever says no-transform means it; and who says that it depends on the coding has tried. */
function isMissed({ request, response }: Profile['data']): boolean {
  const has = (name: string, pattern: RegExp) => readHeader(response, name).some(value => pattern.test(value))
  if (has('content-encoding', /./) || has('cache-control', /\bno-transform\b/i)) return false
  return !has('vary', /\baccept-encoding\b/i) && readHeader(request, 'accept-encoding').some(accepts)
}

function accepts(header: string): boolean {
  return header.split(',').some(coding => /^\s*(?:gzip|br)\s*(?:$|;\s*q=(?!0(?:\.0*)?\s*$))/i.test(coding))
}
