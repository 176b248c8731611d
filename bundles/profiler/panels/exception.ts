import type { EditorLinks } from '../editor-links.ts'
import { readExceptions, type StoredException, toPlace, toRest } from '../reading/read-exceptions.ts'
import type { ProfilePanel } from './panel.ts'
import { viewExceptions } from './view-exceptions.ts'

/** Creates the panel of what was thrown: the error that was seen first, its causes below it, with stacks and sources. */
export function createExceptionPanel(editor: EditorLinks): ProfilePanel {
  return {
    name: 'exception',
    label: 'Exception',
    template: 'profiler/panels/exception',
    hasContent: profile => readExceptions(profile).length > 0,
    badge(profile) {
      const { length } = readExceptions(profile)
      return { text: length === 0 ? '' : String(length), level: 'error' }
    },
    toView: ({ profile }) => ({
      ...viewExceptions(profile, editor),
      isCrash: profile.summary.outcome === 'crashed',
      trace: readExceptions(profile).map(toTrace).join('\n\n'),
    }),
  }
}

/** As plain text, for a report or a search. */
function toTrace({ name, message, relation, frames, ...left }: StoredException): string {
  const head = `${relation === '' ? '' : `${relation}: `}${name}${message === '' ? '' : `: ${message}`}`
  const calls = frames.map(frame => `    at ${frame.call} (${toPlace(frame)})`)
  return [head, ...calls, ...toRest(left).map(rest => `    … ${rest}`)].join('\n')
}
