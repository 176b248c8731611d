import type { StaticFiles } from '../../../../lib/http/static-files.ts'
import type { Caller } from '../../../../lib/stack/callers.ts'
import {
  type BrowserError,
  type BrowserErrorKind,
  parseBrowserStack,
  placeOfBrowserError,
} from '../../profile/browser-data.ts'
import { formatDuration } from '../../profile/format.ts'
import { readHeader } from '../../profile/format-value.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import type { ProfilePanel } from './panel.ts'

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
