import { type OutlineNode, walkOutline } from '../reading/event-outline.ts'

/** Who has changed something. */
export interface Origin {
  /** The listener, the controller, or `the kernel`. */
  readonly who: string
  /** The id of its row in the events panel. */
  readonly anchor: string
  /** `set`, `changed` or `removed`; `came with` what was there when the response was made. */
  readonly how: 'set' | 'changed' | 'removed' | 'came with'
  /** The last sub-request that was made by it: the response may be from there. Empty when there was none. */
  readonly token: string
}

/** Who has set the headers of a response and the attributes of a request, by name; the first of them first. */
export interface ChangeOrigins {
  /** Of the record that all of this is about. */
  readonly token: string
  readonly headers: ReadonlyMap<string, readonly Origin[]>
  readonly attributes: ReadonlyMap<string, readonly Origin[]>
  /** Who has made the response: whatever nobody has set has come with it. */
  readonly response: Origin | undefined
  /** Whether all changes are known. */
  readonly isComplete: boolean
}

/** Derives from what listeners have changed who has set what. */
export function findOrigins(outline: readonly OutlineNode[], token: string): ChangeOrigins {
  const headers = new Map<string, Origin[]>()
  const attributes = new Map<string, Origin[]>()
  let response: Origin | undefined
  let isComplete = true
  for (const node of walkOutline(outline)) {
    const maker = describeMaker(node)
    if (node.kind === 'controller') response = { ...maker, how: 'came with' }
    for (const { name, verb, what } of node.changes) {
      if (what === '') isComplete = false
      if (what === 'response') {
        response = { ...maker, how: 'came with' }
        headers.clear()
      }
      const how = verb === 'set' || verb === 'changed' || verb === 'removed' ? verb : undefined
      if (how === undefined) continue
      const origin: Origin = { ...maker, how }
      // What is changed before it was set has come with the response.
      const first = response !== undefined && how !== 'set' ? [response] : []
      if (what === 'header') headers.set(name, [...(headers.get(name) ?? first), origin])
      if (what === 'attribute') attributes.set(name, [...(attributes.get(name) ?? []), origin])
    }
  }
  return { token, headers, attributes, response, isComplete }
}

function describeMaker({ anchor, children, kind, name }: OutlineNode): Omit<Origin, 'how'> {
  const token = children.findLast(child => child.kind === 'request')?.name ?? ''
  if (kind === 'dispatch') return { who: 'the kernel', anchor, token }
  return { who: kind === 'controller' && name !== '' ? `controller ${name}` : name || 'the controller', anchor, token }
}
