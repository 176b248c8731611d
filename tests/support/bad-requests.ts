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

const recorded: readonly BadRequest[] = JSON.parse(readFileSync('tests/conformance/bad-requests.json', 'utf8'))

/** They expect an open connection where ours is closed: see docs/decisions/014. */
const closedOnPurpose: readonly string[] = ['me-expect-100-404', 'me-expect-100-too-big']

/** Whether this is Node 20, with whose parser the expectations were recorded. */
export const isNode20: boolean = process.versions.node.startsWith('20.')

const refused = { status: 400, close: true, statuses: [[400]] }

/**
 * What the parser of Node 22 and later does otherwise: a tab behind a length is legal (RFC 9110, 5.5), too many fields and an
 * empty Transfer-Encoding end the connection.
 */
const expectedSinceNode22: Readonly<Record<string, BadRequest['expect']>> = {
  'cl-tab-trail': { status: 200, close: false },
  'hd-many-1100': { status: 431, close: true },
  'sm-te-empty': refused,
  'sm-te-empty-cl': refused,
  'sm-te-empty-cl-zero': refused,
  'sm-te-empty-expect': refused,
  'sm-te-empty-get': refused,
}

const changed = new Map(Object.entries(expectedSinceNode22).filter(() => !isNode20))

/** All that were recorded. */
export const badRequests: readonly BadRequest[] = recorded.map(one =>
  closedOnPurpose.includes(one.id)
    ? { ...one, expect: { ...one.expect, close: true } }
    : { ...one, expect: changed.get(one.id) ?? one.expect },
)

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
 * Sends it; what of the answer is not as it must be. A machine that is busy with something else answers late, which is not
 * wrong: then it is sent once more, with more patience.
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
