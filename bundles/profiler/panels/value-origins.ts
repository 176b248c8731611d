import { type OutlineNode, outlineEvents, readEventTree, walkOutline } from '../profile/event-tree.ts'
import { type Row, shorten, toPairRows, toValueRow, type ValueRow } from '../profile/format.ts'
import { profileLink } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import type { Pairs } from '../profile/schema.ts'
import { attributeLimit } from '../record/event-trace.ts'
import { keyOfListener, summarizeListeners } from '../subjects/events/read.ts'
import { readForwarded } from '../subjects/exchange/read.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'

/** A change of a value, and what made it. */
interface Origin {
  /** The listener, the controller, or `the kernel`. */
  readonly who: string
  /** The id of its row in the events panel. */
  readonly anchor: string
  /** Where the listener was registered or the controller is defined: file and line. Empty if it is not known. */
  readonly site: string
  /** `came with`: the value was part of a new response. */
  readonly how: 'set' | 'changed' | 'removed' | 'came with'
  /** The token of its sub-request that made the response. Empty if there was none. */
  readonly token: string
  /** Whether it is a listener of this package, or the kernel. */
  readonly isOurs: boolean
  /** The value of a header before the change; `undefined` if it is not known. */
  readonly old?: string | undefined
}

/** The changes of the headers of a response and of the attributes of a request, by name, in their order. */
export interface ChangeOrigins {
  /** The token of the profile. */
  readonly token: string
  readonly headers: ReadonlyMap<string, readonly Origin[]>
  readonly attributes: ReadonlyMap<string, readonly Origin[]>
  /** What made the response: headers that were not set came with it. */
  readonly response: Origin | undefined
  /** Whether it is a request of another server. */
  readonly isOfServer: boolean
  /** Whether all changes are known. */
  readonly isComplete: boolean
  /** Opens their places. */
  readonly editor: EditorLinks
}

/** Derives from the changes of the event tree which listener set what. */
export function findOrigins(profile: Profile, editor: EditorLinks): ChangeOrigins {
  const { controller, token } = profile.summary
  const forwarded = readForwarded(profile)
  const tree = readEventTree(profile)
  const { ours, sites } = summarizeListeners(tree, profile)
  const events = new Map<OutlineNode, string>()
  const findKey = ({ name, priority = 0, ...node }: OutlineNode, event: string) =>
    node.kind === 'dispatch' ? '' : keyOfListener({ event, name, priority })
  const findSite = (node: OutlineNode) => {
    const { kind, name, priority = 0 } = node
    if (kind === 'controller') return editor.findController(name)
    return sites.get(keyOfListener({ event: events.get(node) ?? '', name, priority })) ?? ''
  }
  const headers = new Map<string, Origin[]>()
  const attributes = new Map<string, Origin[]>()
  let response: Origin | undefined
  let isComplete = true
  for (const node of walkOutline(outlineEvents(tree, controller ?? ''))) {
    for (const child of node.children) events.set(child, node.name)
    const maker = {
      ...describeMaker(node, forwarded),
      isOurs: node.kind === 'dispatch' || ours.has(findKey(node, events.get(node) ?? '')),
      site: node.changes.length > 0 || node.kind === 'controller' ? findSite(node) : '',
    }
    if (node.kind === 'controller') response = { how: 'came with', ...maker }
    for (const { name, old, verb, what } of node.changes) {
      if (what === '') isComplete = false
      if (what === 'response') {
        response = { how: 'came with', ...maker }
        headers.clear()
      }
      const how = verb === 'set' || verb === 'changed' || verb === 'removed' ? verb : undefined
      if (how === undefined) continue
      const origin: Origin = { how, ...maker, old }
      // A header that is changed before it is set came with the response.
      const first = response !== undefined && how !== 'set' ? [response] : []
      if (what === 'header') headers.set(name, [...(headers.get(name) ?? first), origin])
      if (what === 'attribute') attributes.set(name, [...(attributes.get(name) ?? []), origin])
    }
  }
  return { token, headers, attributes, response, isOfServer: tree.isOfServer, isComplete, editor }
}

function describeMaker(
  { anchor, children, kind, name }: OutlineNode,
  forwarded: string,
): Pick<Origin, 'anchor' | 'token' | 'who'> {
  const token = children.some(child => child.kind === 'request' && child.name === forwarded) ? forwarded : ''
  if (kind === 'dispatch') return { who: 'the kernel', anchor, token }
  return { who: kind === 'controller' && name !== '' ? `controller ${name}` : name || 'the controller', anchor, token }
}

/** A row with the origin of its value. */
export interface OriginRow extends ValueRow {
  readonly origin: OriginView | false
  /** Whether only this package has set the value. */
  readonly isOurs: boolean
}

/** The origin of a value as a table shows it. */
interface OriginView {
  /** The words before `who`, such as `changed by`; empty for `set by`, which is the heading. */
  readonly how: string
  readonly who: string
  /** The address of its row in the events panel; empty when there is none. */
  readonly link: string
  /** Its place in the code. */
  readonly site: PlaceView | false
  /** The address of the same value in the sub-request that made the response; empty if there was none. */
  readonly subLink: string
  /** The value until the next change, shortened; empty if it is not known. */
  readonly value: string
  /** The changes before it, the latest first. */
  readonly earlier: readonly OriginView[]
}

/** Creates the rows of a response's headers; `isMeasured`: the server computed the length of the body. */
export function createHeaderRows(headers: readonly Row[], origins: ChangeOrigins, isMeasured: boolean): OriginRow[] {
  return withIds(
    'header',
    headers.map(row => {
      const name = row.name.toLowerCase()
      const known = origins.headers.get(name)
      if (known !== undefined)
        return withOrigin(row, viewOrigins(known, origins, rowId('header', name)), areOurs(known))
      if (name === 'content-length' && isMeasured) return withOrigin(row, viewOther('the server'), true)
      const { isComplete, response } = origins
      return withOrigin(
        row,
        isComplete && response !== undefined && viewOrigins([response], origins, rowId('header', name)),
        response?.isOurs,
      )
    }),
  )
}

/** Creates the rows of a request's attributes. */
export function createAttributeRows(pairs: Pairs, origins: ChangeOrigins, isSubRequest: boolean): OriginRow[] {
  const rows = toPairRows(pairs)
  const hasCaller = isSubRequest && origins.isComplete && rows.length <= attributeLimit
  return withIds(
    'attribute',
    rows.map(row => {
      const known = origins.attributes.get(row.name)
      if (known !== undefined) return withOrigin(row, viewOrigins(known, origins, ''), areOurs(known))
      // Another server has no attributes of its own.
      if (row.name === '_stopwatch_token' || origins.isOfServer) return withOrigin(row, viewOther('the profiler'), true)
      return withOrigin(row, hasCaller && viewOther('the caller of the sub-request'))
    }),
  )
}

/** Finds the headers that were removed and not set again. */
export function findRemovedHeaders(origins: ChangeOrigins) {
  return [...origins.headers].flatMap(([name, changes]) =>
    changes.at(-1)?.how === 'removed'
      ? [{ name, value: writeOld(changes.at(-1)), by: viewOrigins(changes, origins, '') }]
      : [],
  )
}

function areOurs(origins: readonly Origin[]): boolean {
  return origins.every(({ isOurs }) => isOurs)
}

function withOrigin(row: Row, origin: OriginView | false, isOurs = false): OriginRow {
  return { origin, isOurs, ...toValueRow(row) }
}

/** Only the first row of a name gets the id. */
function withIds(what: 'header' | 'attribute', rows: readonly OriginRow[]): OriginRow[] {
  const known = new Set<string>()
  return rows.map(row => {
    const id = rowId(what, row.name)
    if (known.has(id)) return row
    known.add(id)
    return { ...row, id }
  })
}

function viewOrigins(changes: readonly Origin[], { editor, token }: ChangeOrigins, id: string): OriginView {
  const events = profileLink(token, 'events')
  const [last, ...earlier] = changes
    .map((change, at) => ({ ...viewOrigin(change, events, id, editor), value: writeOld(changes[at + 1]) }))
    .reverse()
  return { ...(last as OriginView), earlier }
}

function viewOrigin(
  { anchor, how, site, token, who }: Origin,
  events: string,
  id: string,
  editor: EditorLinks,
): Omit<OriginView, 'value'> {
  const isFromResponse = how === 'came with'
  return {
    how: how === 'set' ? '' : isFromResponse ? 'the response of' : `${how} by`,
    who,
    link: `${events}#${anchor}`,
    site: editor.viewFile(site),
    subLink: isFromResponse && token !== '' ? `${profileLink(token, 'request')}#${id}` : '',
    earlier: [],
  }
}

function viewOther(who: string): OriginView {
  return { how: '', who, link: '', site: false, subLink: '', value: '', earlier: [] }
}

/** Characters of a value that was changed later. */
const oldLimit = 200

/** The value that a change has replaced or removed. */
function writeOld({ old = '' }: Partial<Origin> = {}): string {
  return shorten(old.replaceAll('\n', ', '), oldLimit)
}

/** The id of the row of a header or an attribute in the request panel; empty for a name that cannot be an id. */
export function rowId(what: 'header' | 'attribute', name: string): string {
  const key = name.toLowerCase()
  return /^[\w.-]+$/.test(key) ? `${what}-${key}` : ''
}
