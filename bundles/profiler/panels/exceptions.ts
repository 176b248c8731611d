import { highlightSource } from '../../../lib/stack/highlight.ts'
import { templateOf } from '../profile/callers.ts'
import type { RecordedFrame } from '../profile/code.ts'
import { readExceptions, readExcerpts, type StoredException, toPlace, toRest } from '../profile/exceptions.ts'
import { toValueRow, type ValueRow } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import type { Excerpt } from '../profile/schema.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'

/** An exception, as the template `profiler/exceptions` shows it. */
export interface ExceptionView extends Pick<StoredException, 'name' | 'message' | 'code' | 'status' | 'note'> {
  readonly id: string
  readonly relation: string
  readonly isOpen: boolean
  readonly properties: readonly ValueRow[]
  readonly groups: ReturnType<typeof groupFrames>
  /** The number of frames that were left out, as text. */
  readonly rest: string
}

/** A frame, with its source if it is recorded. */
export interface FrameView extends PlaceView {
  readonly origin: RecordedFrame['origin']
  /** The owner of the code, such as `Node.js`; empty for the application. */
  readonly owner: string
  readonly isOpen: boolean
  readonly lines: ReturnType<typeof viewSource>
  /** How many calls of the same place follow. */
  readonly again: number
}

/**
 * Creates the view of the exceptions of a profile. The first frame with a source is open; foreign
 * frames are folded. An error of a template names the place, and its cause the reason: both are
 * open. `crumbs` lead from the root cause to the exception; they are empty for a single exception.
 */
export function viewExceptions(profile: Profile, editor: EditorLinks) {
  const exceptions = readExceptions(profile)
  const views = viewChain(exceptions, 'exception', readExcerpts(profile), editor)
  const last = templateOf(exceptions[0]?.frames[0]?.call ?? '') === undefined ? 0 : 1
  const open = views.findIndex(({ groups }) => groups.some(({ frames }) => frames.some(({ isOpen }) => isOpen)))
  // The errors of an AggregateError are no causes of each other.
  const isChain = views.length > 1 && views.every(({ relation }) => !relation.startsWith('Error '))
  return {
    exceptions: views.map((view, index) => ({ ...view, isOpen: index <= last || index === open })),
    crumbs: isChain ? views.map(({ id, name }) => ({ id, name })).reverse() : [],
  }
}

/**
 * Creates the views of exceptions, all folded. Their ids begin with `prefix`. Each excerpt is shown
 * once, with its first frame, and where an exception begins: recursive functions have hundreds of frames.
 */
export function viewChain(
  exceptions: readonly StoredException[],
  prefix: string,
  excerpts: readonly Excerpt[],
  editor: EditorLinks,
): ExceptionView[] {
  const shown = new Set<Excerpt | undefined>()
  return exceptions.map((exception, index) =>
    viewException(exception, `${prefix}-${index + 1}`, excerpts, editor, shown),
  )
}

function viewException(
  { frames, common, omitted, relation, name, message, code, status, note, properties }: StoredException,
  id: string,
  excerpts: readonly Excerpt[],
  editor: EditorLinks,
  shown: Set<Excerpt | undefined>,
): ExceptionView {
  const all = frames.map(frame => excerpts.find(({ file, line }) => file === frame.file && line === frame.line))
  const open = all.findIndex(source => source !== undefined)
  const sources = all.map((source, position) => {
    const isNew = !shown.has(source)
    shown.add(source)
    return isNew || position === open ? source : undefined
  })
  const views = frames.map((frame, position) => ({
    ...editor.viewWhole(toPlace(frame), frame.origin === 'runtime' ? {} : frame),
    call: frame.call,
    origin: frame.origin,
    owner: frame.package ?? owners[frame.origin],
    isOpen: position === open,
    lines: viewSource(sources[position]),
    again: 0,
  }))
  return {
    id,
    relation,
    name,
    message,
    code,
    status,
    note,
    isOpen: false,
    properties: properties.map(toValueRow),
    groups: groupFrames(joinRepeated(views)),
    rest: toRest({ common, omitted }).join('; '),
  }
}

/** The lines of an excerpt, divided into tokens. */
export function viewSource(excerpt: Excerpt | undefined) {
  if (excerpt === undefined) return []
  return highlightSource(excerpt.file, excerpt.lines).map((tokens, index) => {
    const number = excerpt.start + index
    const indent = /^ */.exec(excerpt.lines[index] ?? '')?.[0].length ?? 0
    return { number, isMarked: number === excerpt.line, depth: Math.min(8, Math.floor(indent / 2)), tokens }
  })
}

/** Joins consecutive calls of one place: a recursive function has hundreds of frames. */
function joinRepeated(frames: readonly FrameView[]): FrameView[] {
  const joined: FrameView[] = []
  for (const frame of frames) {
    const last = joined.at(-1)
    const isSame = last?.place === frame.place && last.call === frame.call && last.owner === frame.owner
    if (isSame && frame.lines.length === 0) joined.splice(-1, 1, { ...last, again: last.again + 1 })
    else joined.push(frame)
  }
  return joined
}

/** Joins consecutive frames that are not of the application. */
function groupFrames(frames: readonly FrameView[]) {
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

/** The label of folded frames. A single frame is not folded: it is as short as the label. */
function labelOf(run: readonly FrameView[]): string {
  const calls = run.reduce((sum, { again }) => sum + 1 + again, 0)
  if (run.length === 1 || run.some(({ isOpen, origin }) => isOpen || origin === 'application')) return ''
  const names = [...new Set(run.map(({ owner }) => owner))]
  const last = names.pop()
  return `${calls} calls of ${names.length === 0 ? last : `${names.join(', ')} and ${last}`}`
}
