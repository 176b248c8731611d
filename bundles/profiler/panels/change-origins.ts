import { type OutlineNode, walkOutline } from './event-outline.ts'

/** Who has changed something. */
export interface Origin {
  /** The listener, `the kernel`, or the controller. */
  readonly who: string
  /** The id of its row in the events panel. */
  readonly anchor: string
  /** `set`, `changed` or `removed`; `came with` what was there when the response was made. */
  readonly how: 'set' | 'changed' | 'removed' | 'came with'
}

/** Who has set the headers of a response and the attributes of a request, by name; the first of them first. */
export interface ChangeOrigins {
  readonly headers: ReadonlyMap<string, readonly Origin[]>
  readonly attributes: ReadonlyMap<string, readonly Origin[]>
  /** Who has made the response: whatever nobody has set has come with it. */
  readonly response: Origin | undefined
  /** Whether all changes are known. */
  readonly isComplete: boolean
}

/** Derives from what listeners have changed who has set what. */
export function findOrigins(outline: readonly OutlineNode[]): ChangeOrigins {
  const headers = new Map<string, Origin[]>()
  const attributes = new Map<string, Origin[]>()
  let response: Origin | undefined
  let isComplete = true
  for (const node of walkOutline(outline)) {
    const { anchor } = node
    const who = node.kind === 'dispatch' ? 'the kernel' : node.name
    if (node.kind === 'controller') response = { who, anchor, how: 'came with' }
    for (const { name, verb, what } of node.changes) {
      if (what === '') isComplete = false
      if (what === 'response') {
        response = { who, anchor, how: 'came with' }
        headers.clear()
      }
      const how = verb === 'set' || verb === 'changed' || verb === 'removed' ? verb : undefined
      if (how === undefined) continue
      const origin: Origin = { who, anchor, how }
      // What is changed before it was set has come with the response.
      const first = response !== undefined && how !== 'set' ? [response] : []
      if (what === 'header') headers.set(name, [...(headers.get(name) ?? first), origin])
      if (what === 'attribute') attributes.set(name, [...(attributes.get(name) ?? []), origin])
    }
  }
  return { headers, attributes, response, isComplete }
}
