import { toPairRows } from '../format/format-soft.ts'
import type { Row } from '../format/format-value.ts'
import { toValueRow, type ValueRow } from '../format/value-row.ts'
import { recordLink } from '../links.ts'
import { attributeLimit } from '../recording/attribute-watch.ts'
import type { ChangeOrigins, Origin } from './change-origins.ts'
import { rowId } from './row-id.ts'

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
  const others = viewOther(isSubRequest ? 'whoever made the sub-request' : 'there from the start')
  const isComplete = origins.isComplete && rows.length <= attributeLimit
  return withIds(
    'attribute',
    rows.map(row => {
      const known = origins.attributes.get(row.name)
      if (known !== undefined) return withOrigin(row, viewOrigins(known, origins, ''))
      if (row.name === '_stopwatch_token') return withOrigin(row, viewOther('the profiler'))
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
