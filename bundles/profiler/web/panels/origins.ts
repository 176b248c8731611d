import { type OutlineNode, walkOutline } from '../../profile/event-outline.ts'
import { type Row, toPairRows, toValueRow, type ValueRow } from '../../profile/format-value.ts'
import { recordLink } from '../../profile/links.ts'
import { attributeLimit } from '../../record/change-watch.ts'

/** A row that says who has set its value last. */
export interface OriginRow extends ValueRow {
  readonly origin: OriginView | false
}

/** Who has set something. */
export interface OriginView {
  /** What stands before who it was: `changed by`; empty for `set by`, which a heading says. */
  readonly how: string
  readonly who: string
  /** Leads to its row in the events panel; empty when there is none. */
  readonly link: string
  /** Leads to the same in the sub-request that the response may be from; empty when there was none. */
  readonly subLink: string
  /** Those before it, the latest first. */
  readonly earlier: readonly OriginView[]
}

/** What somebody has removed. */
export interface RemovedRow {
  readonly name: string
  readonly by: OriginView
}

/** Makes the rows of a response's headers; `isMeasured` says whether the server has computed the length of the body. */
export function createHeaderRows(headers: readonly Row[], origins: ChangeOrigins, isMeasured: boolean): OriginRow[] {
  return withIds(
    'header',
    headers.map(row => {
      const name = row.name.toLowerCase()
      const known = origins.headers.get(name)
      if (known !== undefined) return withOrigin(row, viewOrigins(known, origins, rowId('header', name)))
      if (name === 'content-length' && isMeasured) return withOrigin(row, viewOther('the server'))
      const { isComplete, response } = origins
      return withOrigin(
        row,
        isComplete && response !== undefined && viewOrigins([response], origins, rowId('header', name)),
      )
    }),
  )
}

/** Makes the rows of a request's attributes. */
export function createAttributeRows(pairs: unknown, origins: ChangeOrigins, isSubRequest: boolean): OriginRow[] {
  const rows = toPairRows(pairs)
  const others = viewOther(isSubRequest ? 'the caller of the sub-request' : 'there from the start')
  const isComplete = origins.isComplete && rows.length <= attributeLimit
  return withIds(
    'attribute',
    rows.map(row => {
      const known = origins.attributes.get(row.name)
      if (known !== undefined) return withOrigin(row, viewOrigins(known, origins, ''))
      return withOrigin(row, isComplete && others)
    }),
  )
}

/** Tells which headers were removed and not set again, and by whom. */
export function findRemovedHeaders(origins: ChangeOrigins): RemovedRow[] {
  return [...origins.headers].flatMap(([name, changes]) =>
    changes.at(-1)?.how === 'removed' ? [{ name, by: viewOrigins(changes, origins, '') }] : [],
  )
}

function withOrigin(row: Row, origin: OriginView | false): OriginRow {
  return { ...toValueRow(row), origin }
}

/** The first one of a name is the place that others link to. */
function withIds(what: 'header' | 'attribute', rows: readonly OriginRow[]): OriginRow[] {
  const known = new Set<string>()
  return rows.map(row => {
    const id = rowId(what, row.name)
    if (known.has(id)) return row
    known.add(id)
    return { ...row, id }
  })
}

function viewOrigins(changes: readonly Origin[], { token }: ChangeOrigins, id: string): OriginView {
  const events = recordLink(token, 'events')
  const [last, ...earlier] = changes.map(change => viewOrigin(change, events, id)).reverse()
  return { ...(last as OriginView), earlier }
}

function viewOrigin({ anchor, how, token, who }: Origin, events: string, id: string): OriginView {
  const isFromResponse = how === 'came with'
  return {
    how: how === 'set' ? '' : isFromResponse ? 'the response of' : `${how} by`,
    who,
    link: `${events}#${anchor}`,
    subLink: isFromResponse && token !== '' ? `${recordLink(token, 'request')}#${id}` : '',
    earlier: [],
  }
}

function viewOther(who: string): OriginView {
  return { how: '', who, link: '', subLink: '', earlier: [] }
}

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

/** The id of the row of a header or an attribute in the request panel; empty for a name that is none of an id. */
export function rowId(what: 'header' | 'attribute', name: string): string {
  const key = name.toLowerCase()
  return /^[\w.-]+$/.test(key) ? `${what}-${key}` : ''
}
