import { type ContentData, writeContent } from '../../profile/content.ts'
import { formatCount, formatSize, type TreeView, TreeViewer, valueTreeLimit } from '../../profile/format.ts'

/** A content as the partial `profiler/content` shows it. Parts that do not exist are empty. */
export interface ContentView {
  /** `text/html, 1,024 bytes`. */
  readonly facts: string
  readonly tree: TreeView | false
  /** About the number of characters that it takes. */
  readonly size: number
  readonly text: string
  /** The id of the element with the text, for its button. */
  readonly id: string
  /** Why not all of it is shown. */
  readonly note: string
  /** The page of the whole content, and what it is called. */
  readonly link: string
  readonly linkLabel: string
}

/** Characters of a text on a page: the pages of the profiler are small. */
const shownLimit = 16_000

/** Makes the view of a content, of which `limit` characters are shown; `link` leads to all of it. */
export function viewContent(content: ContentData, id: string, link = '', limit: number = shownLimit): ContentView {
  const { digest, isCut, json, length, note, type } = content
  const text = writeContent(content)
  const isTree = json !== undefined && text.length <= limit * 8
  const shown = isTree ? '' : text
  const notes = [
    ...(note === undefined ? [] : [note]),
    ...(isCut ? [`The first ${formatCount(text.length, 'character')} are stored.`] : []),
    ...(shown.length > limit ? [`The first ${formatCount(limit, 'character')} are shown.`] : []),
    ...(digest === undefined ? [] : [`SHA-256 ${digest}…`]),
  ]
  return {
    facts: [type, formatSize(length)].filter(fact => fact !== '').join(', '),
    tree: isTree && new TreeViewer(valueTreeLimit, link === '').viewJson(json[0], true),
    size: Math.min(text.length, limit),
    text: shown.slice(0, limit).toWellFormed(),
    id,
    note: notes.join(' '),
    link: text === '' ? '' : link,
    linkLabel: isPage(content) ? 'Preview' : 'Open as text',
  }
}

/** Whether a content is a page that a browser can show. */
export function isPage({ text, type }: ContentData): boolean {
  return type === 'text/html' && text !== undefined
}
