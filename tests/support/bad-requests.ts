import { readFileSync } from 'node:fs'
import { exchange, type Received, type Sending } from './exchange.ts'

/** A recorded request that something is wrong with, and what must come of it. */
export interface BadRequest {
  readonly id: string
  readonly raw?: string
  readonly rawBase64?: string
  readonly splitEvery?: number
  readonly abort?: 'rst' | 'fin'
  readonly halfClose?: boolean
  readonly expect: {
    /** The first final status: one, one of several, or `null` for no answer. */
    readonly status?: number | null | readonly (number | null)[]
    /** All statuses, where one list of several has to come. */
    readonly statuses?: readonly (readonly number[])[]
    readonly close?: boolean
    readonly bodyNotContains?: readonly string[]
  }
}

/** A recorded request that is answered differently on purpose. */
interface Difference {
  readonly id: string
  /** The heading in `docs/decisions` that says why, as an anchor. */
  readonly decision: string
  /** The version of Node.js whose parser makes the difference, and later ones. */
  readonly node?: number
  readonly expect: BadRequest['expect']
}

const read = (file: string) => JSON.parse(readFileSync(`tests/conformance/${file}.json`, 'utf8'))

/** The requests as they were recorded, whose bytes never change. */
export const recordedBadRequests: readonly BadRequest[] = read('bad-requests')

/** Whether this is Node 20, with whose parser the expectations were recorded. */
export const isNode20: boolean = process.versions.node.startsWith('20.')

/** The differences with this version of Node.js, and with any. */
export const badRequestDifferences: readonly Difference[] = read('bad-requests-differs').filter(
  ({ node }: Difference) => node === undefined || !isNode20,
)

/** The parser of Node 22 and later refuses an empty Transfer-Encoding itself. */
const refusedByParser = /^sm-te-empty/
const refused = { status: 400, close: true, statuses: [[400]] }

const own = (read('own-bad-requests') as readonly BadRequest[]).map(one =>
  !isNode20 && refusedByParser.test(one.id) ? { ...one, expect: refused } : one,
)

const expectations = new Map(badRequestDifferences.map(({ expect, id }) => [id, expect]))

/** All of them: those that were recorded, with the expectations that differ on purpose, and those of this project. */
export const badRequests: readonly BadRequest[] = [
  ...recordedBadRequests.map(one => ({ ...one, expect: expectations.get(one.id) ?? one.expect })),
  ...own,
]

/** What of it is sent, and how. */
export function toSending({ abort, halfClose, raw = '', rawBase64, splitEvery }: BadRequest): Sending {
  const bytes = rawBase64 === undefined ? Buffer.from(raw, 'latin1') : Buffer.from(rawBase64, 'base64')
  return {
    bytes,
    ...(splitEvery !== undefined && { pieceLength: splitEvery }),
    ...(abort === 'rst' ? { ending: 'reset' } : abort === 'fin' || halfClose ? { ending: 'close' } : {}),
  }
}

/**
 * Sends it; what of the answer is not as it must be. A machine that is busy with something else
 * answers late, which is not wrong: then it is sent once more, with more patience.
 */
export async function findComplaints(
  port: number,
  one: BadRequest,
  sending: Sending = toSending(one),
): Promise<string[]> {
  let complaints: string[]
  let patience = 1
  do {
    complaints = complaintsOf(one, await exchange(port, sending, patience))
    patience *= 10
  } while (patience <= 10 && complaints.length > 0)
  return complaints
}

function complaintsOf({ abort, expect }: BadRequest, { isClosed, statuses, text }: Received): string[] {
  const [final = null] = statuses.filter(status => status >= 200)
  const isClosedAsExpected = expect.close === undefined || abort !== undefined || expect.close === isClosed
  const complaints: readonly (readonly [isFine: boolean, complaint: string])[] = [
    [expect.status === undefined || [expect.status].flat().includes(final), `status ${final}, not ${expect.status}`],
    [expect.statuses?.some(list => String(list) === String(statuses)) !== false, `statuses ${statuses}`],
    [isClosedAsExpected, `closed: ${isClosed}`],
    ...(expect.bodyNotContains ?? []).map(part => [!text.includes(part), `contains ${part}`] as const),
  ]
  return complaints.filter(([isFine]) => !isFine).map(([, complaint]) => complaint)
}
