import { observeFrameworks } from '../../../kernel/contracts/functions.ts'
import { kernelRequestOf } from '../../../kernel/interop/mount.ts'
import { listenToFrameworks } from '../../libraries/libraries.ts'
import { middlewarePart } from '../record/middleware-trace.ts'
import { attachedTrace } from '../record/trace.ts'

/**
 * Records what frameworks do for the requests that kernels pass to mounted handlers, until the
 * returned function is called.
 */
export function recordMounts(): () => void {
  listenToFrameworks()
  // A function of its own for each kernel: the others go on when one is closed. A request leads to
  // its trace, whichever kernel has it.
  return observeFrameworks(message => {
    const request = kernelRequestOf(message)
    const trace = request && attachedTrace(request)
    return trace && middlewarePart.of(trace)
  })
}
