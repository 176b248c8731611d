import { type ExportKind, exportKinds, exportLink, recordDataLink } from '../links.ts'

/** A line of the menu of exports. */
export interface ExportEntry {
  readonly label: string
  /** What it is good for. */
  readonly note: string
  readonly link: string
}

const entries: Readonly<Record<ExportKind, Omit<ExportEntry, 'link'>>> = {
  har: { label: 'HAR', note: 'for developer tools and tests' },
  curl: { label: 'curl', note: 'to ask again from a shell' },
  fetch: { label: 'fetch', note: 'to ask again from JavaScript' },
  html: { label: 'HTML', note: 'one file, to keep or send' },
  json: { label: 'JSON', note: 'all of the record' },
}

/** Lists what a record can be taken away as, and its Markdown. */
export function listExports(token: string): ExportEntry[] {
  return [
    { label: 'Markdown', note: 'to read, or to paste', link: recordDataLink(token, 'md') },
    ...exportKinds.map(kind => ({ ...entries[kind], link: exportLink(token, kind) })),
  ]
}
