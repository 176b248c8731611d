import type { StaticFiles } from '../../../../lib/http/static-files.ts'
import {
  type BrowserError,
  type BrowserErrorKind,
  parseBrowserStack,
  placeOfBrowserError,
} from '../../profile/browser-data.ts'
import { formatDuration } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import type { EditorLinks } from '../editor-links.ts'
import type { ProfilePanel } from './panel.ts'

/** Creates the panel of the errors of the page in the browser. Own static files link to the editor. */
export function createBrowserPanel(files: Pick<StaticFiles, 'find'>, editor: EditorLinks): ProfilePanel {
  const linkTo = (file = '', line?: number, column?: number) =>
    editor.link(files.find(file.replace(/[?#].*/s, ''))?.file, line, column)
  return {
    name: 'browser',
    label: 'Browser',
    template: 'profiler/panels/browser',
    hasContent: ({ summary }) => summary.browserErrors > 0,
    badge: ({ summary: { browserErrors } }) => ({
      text: browserErrors === 0 ? '' : String(browserErrors),
      level: browserErrors === 0 ? 'plain' : 'error',
    }),
    toView({ profile }) {
      const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
      const [client = ''] = readHeader(profile.collectors.request, 'user-agent')
      return { omitted, client, errors: errors.map((error, index) => toRow(error, index, linkTo)) }
    },
  }
}

/** The link that opens a file of the page in the editor; empty for files that are not those of the application. */
type LinkTo = (file?: string, line?: number, column?: number) => string

const labels: Readonly<Record<BrowserErrorKind, string>> = {
  exception: 'uncaught exception',
  rejection: 'unhandled rejection',
  console: 'console.error',
  resource: 'not loaded',
  policy: 'policy violated',
}

function toRow(error: BrowserError, index: number, linkTo: LinkTo) {
  const { at, column, file, kind, line, message, stack = '', times } = error
  const frames = parseBrowserStack(stack).map(({ function: call, ...place }) => ({
    call,
    place: placeOfBrowserError(place),
    link: linkTo(place.file, place.line, place.column),
  }))
  return {
    index,
    label: labels[kind],
    message,
    times: times === 1 ? '' : `${times} times`,
    time: `+${formatDuration(at)}`,
    call: '',
    place: placeOfBrowserError(error),
    link: linkTo(file, line, column),
    frames,
    // A stack in an unknown format.
    stack: frames.length === 0 ? stack : '',
  }
}
