import type { EventNode } from './event-tree.ts'

/** What the kernel does itself, between two of its events. Times are microseconds since the pass began. */
export interface KernelGap {
  readonly name: 'controller.get_callable' | 'controller.get_arguments' | 'controller' | 'response.send'
  /** The event before it. */
  readonly after: EventNode
  /** The event behind it; none when it was not over. */
  readonly before: EventNode | undefined
  readonly start: number
  /** `undefined` when it was not over. */
  readonly duration: number | undefined
}

const names: ReadonlyMap<string, KernelGap['name']> = new Map([
  ['kernel.request kernel.controller', 'controller.get_callable'],
  ['kernel.controller kernel.controller_arguments', 'controller.get_arguments'],
  ['kernel.finish_request kernel.terminate', 'response.send'],
])

/** Finds what the kernel has done between its events, in their order: the controller is what follows its arguments. */
export function findKernelGaps(roots: readonly EventNode[]): KernelGap[] {
  const events = roots.filter(isKernelDispatch)
  return events.flatMap((after, at) => {
    const before = events[at + 1]
    const isController = after.name === 'kernel.controller_arguments' && !after.hasThrown
    const name = isController ? 'controller' : names.get(`${after.name} ${before?.name}`)
    if (name === undefined || after.duration === undefined) return []
    const start = after.start + after.duration
    return [{ name, after, before, start, duration: before && Math.max(0, before.start - start) }]
  })
}

/** How long the controllers of a pass took, in microseconds; one that was not over at `until` has taken until then. */
export function controllerTimes(roots: readonly EventNode[], until: number): number[] {
  return findKernelGaps(roots)
    .filter(({ name }) => name === 'controller')
    .map(({ duration, start }) => duration ?? Math.max(0, until - start))
}

/** Whether it is one of the kernel's own events. */
export function isKernelDispatch({ kind, name }: Pick<EventNode, 'name'> & { readonly kind: string }): boolean {
  return kind === 'dispatch' && name.startsWith('kernel.')
}
