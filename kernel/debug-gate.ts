import type { Request } from '../lib/http/request.ts'
import type { Logger } from '../lib/log/logger.ts'
import { type DebugPolicy, decideDebugAccess } from './debug-access.ts'

/** Asks the gate of debug output, and tells the server's log once for each reason what would open it. */
export class DebugGate {
  readonly #policy: DebugPolicy
  readonly #logger: Logger
  readonly #told = new Set<string>()

  constructor(policy: DebugPolicy, logger: Logger) {
    this.#policy = policy
    this.#logger = logger
  }

  /** Whether the process was started with debug on; says nothing of any client. */
  get isDebug(): boolean {
    return this.#policy.isDebug
  }

  /** Whether this request's client may see debug output. */
  allows(request: Request): boolean {
    const decision = decideDebugAccess(request, this.#policy)
    if (decision.isAllowed) return true
    const { reason, setting } = decision
    if (this.#policy.isDebug && !this.#told.has(setting)) {
      this.#told.add(setting)
      this.#logger.warning('Debug output is withheld: {reason}. The setting {setting} would allow it.', {
        reason,
        setting,
      })
    }
    return false
  }
}
