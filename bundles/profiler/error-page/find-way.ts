import { recordLink } from '../links.ts'
import type { Profile } from '../profile.ts'
import { type EventNode, type EventTree, readEventTree } from '../reading/event-tree.ts'
import { asObject, asText } from '../reading/read-soft.ts'

/** One step on the way from a request to its error. */
export interface Step {
  readonly kind: 'request' | 'route' | 'event' | 'listener' | 'controller'
  readonly name: string
  /** Where the record tells of it; empty when there will be none. */
  readonly link: string
}

/**
 * Finds the way from the main request to what has thrown: which event, which listener, which controller, and the same
 * again in a sub-request. Stacks end where somebody has awaited; the event tree knows who was at work. Of what is not kept
 * there are no links.
 */
export function findWay(lineage: readonly Profile[], isKept: boolean): Step[] {
  const steps = lineage.flatMap((profile, index) => {
    const next = lineage[index + 1]
    const tree = readEventTree(profile)
    const nodes = next === undefined ? findThrower(tree) : findSubRequest(tree, next.summary.token)
    return [...beginningOf(profile, index), ...describe(nodes, profile)]
  })
  return isKept ? steps : steps.map(step => ({ ...step, link: '' }))
}

function beginningOf({ data, summary }: Profile, index: number): Step[] {
  const name = index === 0 ? summary.method : 'sub-request'
  const route = asText(asObject(data.router).route)
  const matched: Step = { kind: 'route', name: route, link: recordLink(summary.token, 'router') }
  const begun: Step = { kind: 'request', name, link: recordLink(summary.token, 'request') }
  return [begun, ...(route === '' ? [] : [matched])]
}

/** Events that come after the error. */
const aftermath: readonly string[] = ['kernel.exception', 'kernel.finish_request', 'kernel.terminate']

/** From the dispatch that was under way to the innermost listener that has thrown; a dispatch alone when all was well in it. */
function findThrower({ roots }: EventTree): EventNode[] {
  const dispatches = roots.filter(({ kind }) => kind === 'dispatch')
  const exception = dispatches.findLastIndex(({ name }) => name === 'kernel.exception')
  const before = exception === -1 ? dispatches : dispatches.slice(0, exception)
  const way: EventNode[] = []
  let node = before.findLast(({ name }) => !aftermath.includes(name))
  while (node !== undefined) {
    way.push(node)
    node = node.hasThrown ? node.children.findLast(({ hasThrown }) => hasThrown) : undefined
  }
  return way
}

function findSubRequest({ nodes }: EventTree, token: string): EventNode[] {
  const way: EventNode[] = []
  let node = nodes.find(({ kind, name }) => kind === 'request' && name === token)?.parent
  while (node !== undefined) {
    way.unshift(node)
    node = node.parent
  }
  return way
}

/** What the kernel does between its events. */
const gaps: Readonly<Record<string, string>> = {
  'kernel.request': 'finding the controller',
  'kernel.controller': 'resolving its arguments',
}

function describe(way: readonly EventNode[], { summary }: Profile): Step[] {
  const [first] = way
  const { controller, token } = summary
  const atWork: Step[] =
    controller === null ? [] : [{ kind: 'controller', name: controller, link: recordLink(token, 'time') }]
  if (first === undefined) return atWork
  const steps = way.map((node): Step => {
    const link = `${recordLink(token, 'events')}#span-${node.index}`
    return { kind: node.kind === 'call' ? 'listener' : 'event', name: node.name, link }
  })
  // What an application dispatches, it dispatches while its controller is at work.
  if (!first.name.startsWith('kernel.')) return [...atWork, ...steps]
  if (first.hasThrown || way.length > 1) return steps
  if (first.name === 'kernel.controller_arguments') return atWork
  const gap = gaps[first.name]
  return gap === undefined ? [...atWork, ...steps] : [...steps, { kind: 'controller', name: gap, link: '' }]
}
