import type { StaticFiles } from '../../../../lib/http/static-files.ts'
import type { Caller } from '../../../../lib/stack/callers.ts'
import { type Section, toBlock, toSpan } from '../../export/markdown-text.ts'
import { formatDuration, readHeader } from '../../profile/format.ts'
import type { EditorLinks, PlaceView } from '../../web/editor-links.ts'
import type { ProfilePanel } from '../../web/panels/panel.ts'
import {
  type BrowserError,
  type BrowserErrorKind,
  describeBrowserError,
  parseBrowserStack,
  placeOfBrowserError,
} from './data.ts'

/** Creates the panel of the errors of the page in the browser. Own static files link to the editor. */
export function createBrowserPanel(files: Pick<StaticFiles, 'find'>, editor: EditorLinks): ProfilePanel {
  const toPlace: ToPlace = ({ column, file = '', line }) => {
    const place = { file: files.find(file.replace(/[?#].*/s, ''))?.file, line, column }
    return editor.viewName(placeOfBrowserError({ file, line, column }), place)
  }
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
      return { omitted, client, errors: errors.map((error, index) => toRow(error, index, toPlace)) }
    },
  }
}

/** The view of a place in a file of the page. Only the files of the application can be opened. */
type ToPlace = (place: Pick<Caller, 'file' | 'line' | 'column'>) => PlaceView

const labels: Readonly<Record<BrowserErrorKind, string>> = {
  exception: 'uncaught exception',
  rejection: 'unhandled rejection',
  console: 'console.error',
  resource: 'not loaded',
  policy: 'policy violated',
}

function toRow(error: BrowserError, index: number, toPlace: ToPlace) {
  const { at, kind, message, stack = '', times } = error
  const frames = parseBrowserStack(stack).map(({ function: call, ...place }) => ({
    ...toPlace(place),
    call,
  }))
  return {
    index,
    label: labels[kind],
    message,
    times: times === 1 ? '' : `${times} times`,
    time: `+${formatDuration(at)}`,
    ...toPlace(error),
    frames,
    // A stack in an unknown format.
    stack: frames.length === 0 ? stack : '',
  }
}

/** The errors of the page in the browser. */
export const browserSection: Section = {
  panel: 'browser',
  nothing: 'No errors in the browser.',
  write({ profile }) {
    const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
    if (errors.length === 0) return []
    return [
      '## Errors in the browser',
      ...errors.flatMap(writeBrowserError),
      ...(omitted === 0 ? [] : [`${omitted.toLocaleString('en')} more were not recorded.`]),
    ]
  },
}

function writeBrowserError(error: BrowserError): string[] {
  const { stack = '', times } = error
  const place = placeOfBrowserError(error)
  const head = [
    toSpan(describeBrowserError(error)),
    ...(place === '' ? [] : [`at ${toSpan(place)}`]),
    ...(times === 1 ? [] : [`(${times} times)`]),
  ]
  return [head.join(' '), ...(stack === '' ? [] : [toBlock(stack)])]
}
