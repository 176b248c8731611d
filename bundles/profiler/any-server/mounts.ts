import { kernelRequestOf } from '../../../kernel/interop/mount.ts'
import { attachedTrace } from '../record/trace.ts'
import { recordFrameworks } from './framework-calls.ts'
import { listenToFrameworks } from './frameworks.ts'

/** How many kernels of this process record their requests. */
let kernels = 0

let stop: (() => void) | undefined

/**
 * Records what frameworks do for the requests that kernels pass to mounted handlers, until the returned function is called. A request
 * leads to its trace, so all kernels of a process share one recording.
 */
export function recordMounts(): () => void {
  kernels++
  listenToFrameworks()
  stop ??= recordFrameworks(message => {
    const request = kernelRequestOf(message)
    return request && attachedTrace(request)
  })
  return () => {
    if (--kernels > 0) return
    stop?.()
    stop = undefined
  }
}
