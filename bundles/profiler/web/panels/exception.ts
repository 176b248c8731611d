import { highlightSource, type TokenKind } from '../../../../lib/stack/highlight.ts'
import type { RecordedFrame } from '../../profile/code-data.ts'
import { readExceptions, readExcerpts, type StoredException, toPlace, toRest } from '../../profile/exceptions.ts'
import type { Profile } from '../../profile/profile.ts'
import type { Excerpt } from '../../profile/schema.ts'
import type { EditorLinks } from '../editor-links.ts'
import type { ProfilePanel } from './panel.ts'

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

/** What the template `profiler/exceptions` shows. */
export interface ExceptionsView {
  readonly exceptions: readonly ExceptionView[]
  /** The cause first, as the story went; none of a single error. */
  readonly crumbs: readonly { readonly name: string; readonly id: string }[]
}

/** A box with an error. */
export interface ExceptionView extends Pick<StoredException, 'name' | 'message' | 'code' | 'status' | 'note'> {
  readonly id: string
  readonly relation: string
  readonly isOpen: boolean
  readonly groups: readonly FrameGroup[]
  /** What of the frames was left out. */
  readonly rest: string
}

/** Calls in a row. */
export interface FrameGroup {
  /** What they are folded under, such as `4 calls of the kernel`; empty of those that are always to be seen. */
  readonly label: string
  readonly frames: readonly FrameView[]
}

/** A call, with its source where that is known. */
export interface FrameView {
  readonly call: string
  readonly place: string
  /** Opens the place in the editor; empty where there is no link. */
  readonly link: string
  readonly origin: RecordedFrame['origin']
  readonly isOpen: boolean
  readonly lines: readonly SourceLine[]
}

/** A line of source. */
export interface SourceLine {
  readonly number: number
  readonly isMarked: boolean
  readonly tokens: readonly { readonly kind: TokenKind; readonly text: string }[]
}

/** Makes what is shown of the errors of a profile. The first call that has a source is open; what is nobody's of the application is folded. */
export function viewExceptions(profile: Profile, editor: EditorLinks): ExceptionsView {
  const exceptions = readExceptions(profile)
  const excerpts = readExcerpts(profile)
  const views = exceptions.map((exception, index) => viewException(exception, index, excerpts, editor))
  const telling = views.findIndex(({ groups }) => groups.some(({ frames }) => frames.some(({ isOpen }) => isOpen)))
  return {
    exceptions: views.map((view, index) => ({ ...view, isOpen: index === 0 || index === telling })),
    crumbs: views.length > 1 ? views.map(({ id, name }) => ({ id, name })).reverse() : [],
  }
}

function viewException(
  { frames, common, omitted, relation, name, message, code, status, note }: StoredException,
  index: number,
  excerpts: readonly Excerpt[],
  editor: EditorLinks,
): ExceptionView {
  const sources = frames.map(frame => excerpts.find(({ file, line }) => file === frame.file && line === frame.line))
  const open = sources.findIndex(source => source !== undefined)
  const views = frames.map((frame, position) => ({
    call: frame.call,
    place: toPlace(frame),
    link: frame.origin === 'runtime' ? '' : editor.link(frame.file, frame.line, frame.column),
    origin: frame.origin,
    isOpen: position === open,
    lines: viewSource(sources[position]),
  }))
  return {
    id: `exception-${index + 1}`,
    relation,
    name,
    message,
    code,
    status,
    note,
    isOpen: false,
    groups: groupFrames(views),
    rest: toRest({ common, omitted }).join('; '),
  }
}

function viewSource(excerpt: Excerpt | undefined): SourceLine[] {
  if (excerpt === undefined) return []
  return highlightSource(excerpt.file, excerpt.lines).map((tokens, index) => {
    const number = excerpt.start + index
    return { number, isMarked: number === excerpt.line, tokens }
  })
}

/** Calls of others stand between those of the application, mostly in long runs. */
function groupFrames(frames: readonly FrameView[]): FrameGroup[] {
  const runs: FrameView[][] = []
  let isFolding: boolean | undefined
  for (const frame of frames) {
    const isFolded = frame.origin !== 'application' && !frame.isOpen
    if (isFolded === isFolding) runs.at(-1)?.push(frame)
    else runs.push([frame])
    isFolding = isFolded
  }
  return runs.map(run => ({ label: labelOf(run), frames: run }))
}

const owners = { application: '', kernel: 'the kernel', vendor: 'packages', runtime: 'Node.js' } as const

/** A single call is as short as what it would be folded under. */
function labelOf(run: readonly FrameView[]): string {
  if (run.length === 1 || run.some(({ isOpen, origin }) => isOpen || origin === 'application')) return ''
  const names = [...new Set(run.map(({ origin }) => owners[origin]))]
  const last = names.pop()
  return `${run.length} calls of ${names.length === 0 ? last : `${names.join(', ')} and ${last}`}`
}
