import { kernelRequestOf } from '../../../kernel/interop/mount.ts'
import { attachedTrace } from '../record/trace.ts'
import { recordFrameworks } from './framework-calls.ts'
import { listenToFrameworks } from './frameworks.ts'

/** Records what frameworks do for the requests that kernels pass to mounted handlers, until the returned function is called. */
export function recordMounts(): () => void {
  listenToFrameworks()
  // A function of its own for each kernel: the others go on when one is closed. A request leads to its trace, whichever kernel has it.
  return recordFrameworks(message => {
    const request = kernelRequestOf(message)
    return request && attachedTrace(request)
  })
}
