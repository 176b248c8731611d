import type { Caller } from '../../../../lib/stack/callers.ts'
import { toBlock, toSpan, writeRest } from '../../export/markdown-text.ts'
import type { PlaceView } from '../../panels/editor-links.ts'
import type { SubjectView } from '../../panels/subject-view.ts'
import { formatDuration, readHeader } from '../../profile/format.ts'
import {
  type BrowserError,
  type BrowserErrorKind,
  describeBrowserError,
  parseBrowserStack,
  placeOfBrowserError,
} from './data.ts'

/** The errors of the page in the browser. Own static files link to the editor. */
export const browserView: SubjectView = {
  name: 'browser',
  label: 'Browser',
  template: 'profiler/panels/browser',
  hasContent: ({ profile }) => profile.summary.browserErrors > 0,

  badge({ profile }) {
    const { browserErrors } = profile.summary
    return { text: browserErrors === 0 ? '' : String(browserErrors), level: 'error' }
  },

  toView({ profile }, { editor, files }) {
    const toPlace: ToPlace = ({ column, file = '', line }) => {
      const place = { file: files.find(file.replace(/[?#].*/s, ''))?.file, line, column }
      return editor.viewName(placeOfBrowserError({ file, line, column }), place)
    }
    const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
    const [client = ''] = readHeader(profile.collectors.request, 'user-agent')
    return { omitted, client, errors: errors.map((error, index) => toRow(error, index, toPlace)) }
  },

  nothing: 'No errors in the browser.',

  toMarkdown({ profile }) {
    const { errors = [], omitted = 0 } = profile.collectors.browser ?? {}
    if (errors.length === 0) return []
    return ['## Errors in the browser', ...errors.flatMap(writeBrowserError), ...writeRest(omitted)]
  },
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
  const site = toPlace(error)
  const frames = parseBrowserStack(stack).map(({ function: call, ...place }) => ({
    ...toPlace(place),
    call,
  }))
  return {
    id: `browser-error-${index}`,
    lead: `+${formatDuration(at)}`,
    mark: { text: labels[kind], tone: 'error' },
    tone: 'error',
    message,
    times: times === 1 ? '' : `${times} times`,
    where: site.place,
    site: site.place !== '' && site,
    frames,
    // A stack in an unknown format.
    stack: frames.length === 0 ? stack : '',
  }
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
