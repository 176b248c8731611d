import type { CollectedRequest } from '../../kernel/collector.ts'
import type { RequestType } from '../../kernel/request-type.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Response } from '../../lib/http/response.ts'
import type { LogRecord } from '../../lib/log/logger.ts'
import type { SessionMethod } from '../../lib/session/session-use.ts'
import type { StackFrame } from '../../lib/stack/parse-stack.ts'
import type { Outcome } from './profile.ts'

/** A use of a session, while its request is recorded. */
export interface NotedSessionUse {
  readonly method: SessionMethod
  /** Milliseconds since the start of the pass. */
  readonly at: number
  /** Where, innermost call first. */
  readonly frames: readonly StackFrame[]
}

/** One kernel pass while it is recorded: what tracers and listeners note of it until its profile is made. */
export class Pass implements CollectedRequest {
  readonly token: string
  readonly request: Request
  readonly type: RequestType
  readonly parent: Pass | undefined
  /** Its sub-requests, in the order in which they began. */
  readonly children: Pass[] = []
  /** When it began, in milliseconds since 1970. */
  readonly time: number = Date.now()
  /** When it began, by `performance.now()`; all times of its notes are relative to it. */
  readonly start: number = performance.now()
  /** Milliseconds from its start; `undefined` while it is handled. */
  duration: number | undefined
  outcome: Outcome = 'unfinished'
  response: Response | undefined
  /** The name of the controller. */
  controller: string | undefined
  error: unknown
  /** Whether it will become a profile. */
  isRecorded = true
  /** Whether its profile was kept; what is learnt later amends it. */
  isSaved = false
  /** Masked records of what was logged while the request was handled. */
  readonly logs: LogRecord[] = []
  /** The first uses of the session on behalf of this very request. */
  readonly sessionUses: NotedSessionUse[] = []

  constructor(token: string, request: Request, type: RequestType, parent: Pass | undefined) {
    this.token = token
    this.request = request
    this.type = type
    this.parent = parent
    parent?.children.push(this)
  }

  /** Milliseconds since its start. */
  elapsed(): number {
    return performance.now() - this.start
  }
}
