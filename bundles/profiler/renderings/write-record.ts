import { formatJson } from '../../../lib/console/document.ts'
import { createCurl } from '../format/curl.ts'
import type { DataForm, ExportKind } from '../links.ts'
import type { RecordSubject } from './record-subject.ts'
import { toFetch } from './to-fetch.ts'
import { toHar } from './to-har.ts'
import { type HtmlFileServices, toHtmlFile } from './to-html-file.ts'
import { toJson } from './to-json.ts'
import { toMarkdown } from './to-markdown.ts'

/** Writes a record as the text of a file. */
export function writeRecord(
  kind: ExportKind | DataForm,
  record: RecordSubject,
  services: HtmlFileServices,
): string | Promise<string> {
  const { profile } = record
  switch (kind) {
    case 'har':
      return formatJson(toHar(profile))
    case 'curl':
      return `#!/bin/sh\n${createCurl(profile)}\n`
    case 'fetch':
      return toFetch(profile)
    case 'html':
      return toHtmlFile(record, services)
    case 'json':
      return formatJson(toJson(record))
    case 'md':
      return toMarkdown(record)
  }
}
