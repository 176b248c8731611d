import { finished } from 'node:stream/promises'
import { pause, readClock } from '../../../../lib/own-globals.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { type OutgoingMessage, sendMessage } from '../../any-server/client.ts'
import { replayHeader, writeReplayMark } from '../../any-server/replay-mark.ts'
import { isToken } from '../../profile/json.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { OtherPrograms } from '../../store/united-storage.ts'
import { createReplayMessage, type PossibleReplay, type ReplayInput, type ReplayResult } from './replay.ts'

interface ServerReplayerServices {
  readonly profiler: Pick<Profiler, 'whenStored'>
  readonly storage: Pick<ProfileStorage, 'find'> & Pick<OtherPrograms, 'ownerOf'>
  /** The secret by which the processes of this program know its replays; absent if it is an application of ours. */
  readonly ownSecret?: string
  /** The time limit for the head of the response, in milliseconds; 30 seconds by default. */
  readonly patience?: number
  /** The time limit for the body of the response, and for its profile, in milliseconds; 5 seconds by default. */
  readonly streamPatience?: number
}

/** Milliseconds between two looks into the store, for a profile of another process. */
const interval = 50

/**
 * Replays requests of another server: sends them again to the address at which the running
 * application has answered them.
 */
export class ServerReplayer {
  readonly #services: ServerReplayerServices

  constructor(services: ServerReplayerServices) {
    this.#services = services
  }

  /**
   * Sends a request again, and waits until its profile is stored, by whichever process of the application has answered.
   *
   * @throws HTTP_HEADER_INVALID before the request is sent
   */
  async replay(plan: PossibleReplay, input?: ReplayInput): Promise<ReplayResult> {
    const { ownSecret, profiler, storage, streamPatience = 5_000 } = this.#services
    const { replaySecret: secret } = storage.ownerOf(plan.token) ?? { replaySecret: ownSecret }
    if (!secret) return { problem: 'The profile is of another application: its own profiler replays it.' }
    const { address } = plan
    if (address === undefined) return { problem: 'The profile does not have the address of the server.' }
    const { body, headers } = createReplayMessage(plan, input)
    headers.set(replayHeader, writeReplayMark(secret, plan.token))
    const message = { ...plan, address, target: input?.target ?? plan.target, headers: [...headers], body }
    let token: unknown
    try {
      token = await this.#send(message)
    } catch (error) {
      return { problem: describeFailure(error, address) }
    }
    if (!isToken(token)) return { problem: 'The application has answered, but it has made no profile of the replay.' }
    await profiler.whenStored(token)
    const limit = readClock() + streamPatience
    while ((await storage.find(token)) === undefined && readClock() < limit) await pause(interval)
    return { token }
  }

  /** Sends a request, and discards the response. Returns the token in its head. */
  async #send(message: OutgoingMessage): Promise<unknown> {
    const { patience = 30_000, streamPatience = 5_000 } = this.#services
    const { body, close, head } = sendMessage(message, AbortSignal.timeout(patience))
    try {
      const token = (await head)['x-debug-token']
      // A stream that does not end is cut off.
      const signal = AbortSignal.timeout(streamPatience)
      await finished((await body()).resume(), { signal, writable: false }).catch(() => undefined)
      return token
    } finally {
      close()
    }
  }
}

function describeFailure(error: unknown, address: string): string {
  const code = readProperty(error, 'code')
  if (code === 'ABORT_ERR') return 'There was no response in time. The profile appears when the request is complete.'
  // The error of a stream of HTTP/2 has that of its connection as its cause.
  const reason = readProperty(readProperty(error, 'cause'), 'code') ?? code ?? readProperty(error, 'message')
  if (reason === 'ECONNREFUSED')
    return `The application does not run, or no longer at ${address}: nothing listens there.`
  return `The application has not answered at ${address}: ${String(reason)}.`
}
