import { highlightSource } from '../../../../lib/stack/highlight.ts'
import { createAxis, listTicks, wholeWindow } from '../../client/time-axis.ts'
import { toBlock, toList, toSpan, writeLine } from '../../export/markdown-text.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import { toBar, toPercent } from '../../panels/parts.ts'
import type { PanelProfile, PanelServices, SubjectView } from '../../panels/subject-view.ts'
import { formatCount, formatMicroseconds, formatShare, toTarget } from '../../profile/format.ts'
import { cpuLink, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import { intervalOf, placeOf, readCpu, type StoredCpu, type StoredFunction, type StoredSample } from './read.ts'

/**
 * The CPU profile of a request that was sampled: a flame graph, the functions with the most CPU
 * time, and their sources.
 */
export const cpuView: SubjectView = {
  name: 'cpu',
  label: 'CPU',
  template: 'profiler/panels/cpu',
  hasContent: ({ profile }) => readCpu(profile) !== undefined,

  toView(shown, { editor, routes }) {
    const { summary } = shown.profile
    const cpu = readCpu(shown.profile)
    return {
      page: cpuLink,
      ...describeNext(summary, routes),
      ...(cpu ? viewCpu(cpu, shown, editor) : { isMissing: true }),
    }
  },

  toMarkdown({ profile }, limit) {
    const cpu = readCpu(profile)
    if (cpu === undefined) return []
    const hot = findHot(cpu)
    return [
      '## CPU',
      toFacts(cpu),
      '### Hot spots',
      hot.length === 0 ? 'No CPU activity in the samples.' : toList(hot, limit, spot => writeSpot(spot, cpu)),
      ...cpu.excerpts.flatMap(({ file, line, lines, start }) => [
        `Source of ${toSpan(`${file}:${line}`)}, the hottest line marked:`,
        toBlock(lines.map((text, index) => writeLine(text, start + index, line)).join('\n'), 'ts'),
      ]),
    ]
  },
}

/** The functions that were at work themselves, those with the most CPU time first. */
function findHot({ functions }: StoredCpu): readonly StoredFunction[] {
  return functions.filter(({ self }) => self > 0)
}

/** The default values of the form: the next request like this one. Another server names its routes too late for it. */
function describeNext(summary: ProfileSummary, routes: PanelServices['routes']) {
  const { method, parent, route, token, url } = summary
  return {
    parentLink: typeof parent === 'string' ? profileLink(parent, 'cpu') : '',
    isExchange: unitOf(summary).isExchange,
    token,
    route: routes.find(route ?? '')?.name ?? '',
    method,
    target: toTarget(url).replace(/[?#].*$/s, ''),
  }
}

/** Fewer samples give imprecise times. */
const fewSamples = 50

function viewCpu(cpu: StoredCpu, { profile, query }: PanelProfile, editor: EditorLinks) {
  const { busy, calls, idle, isCut, omitted, others, samples, startup } = cpu
  const frame = calls[Number(query.get('frame') || Number.NaN)]
  const isUnfolded = query.get('calls') === 'all'
  const link = profileLink(profile.summary.token, 'cpu')
  const linkStart = `${link}&frame=`
  const linkEnd = (isAll: boolean) => `${isAll ? '&calls=all' : ''}#flame`
  const linkTo = (call: StoredSample | undefined, isAll = isUnfolded) =>
    `${call === undefined ? link : `${linkStart}${call.index}`}${linkEnd(isAll)}`
  const flame = drawFlameGraph(cpu, { frame, isUnfolded, linkTo })
  const hot = findHot(cpu)
  return {
    busy: formatMicroseconds(busy),
    idle: formatMicroseconds(idle),
    busyShare: formatShare(busy, busy + idle),
    samples: samples.toLocaleString('en'),
    interval: formatMicroseconds(intervalOf(cpu)),
    startup: formatMicroseconds(startup),
    others: others === 0 ? '' : others.toLocaleString('en'),
    isOneOther: others === 1,
    isCut,
    omitted,
    isRough: samples < fewSamples,
    flame,
    frameName: frame?.called.name ?? '',
    linkStart,
    linkEnd: linkEnd(isUnfolded),
    allLink: linkTo(undefined),
    isUnfolded,
    foldLink: linkTo(frame, !isUnfolded),
    spots: hot.slice(0, spotLimit).map(spot => viewSpot(spot, cpu, editor, linkTo)),
    moreSpots: Math.max(0, hot.length - spotLimit),
  }
}

const spotLimit = 15

function viewSpot(
  spot: StoredFunction,
  { busy, calls, excerpts }: StoredCpu,
  editor: EditorLinks,
  linkTo: (call: StoredSample) => string,
) {
  const { file, hot, line, name, origin, self, total } = spot
  const excerpt = excerpts.find(excerpt => excerpt.file === file && excerpt.line === hot)
  const widest = calls.reduce<StoredSample | undefined>(
    (widest, call) => (call.called === spot && call.self > (widest?.self ?? -1) ? call : widest),
    undefined,
  )
  return {
    name,
    origin,
    place: editor.viewName(placeOf(spot), origin === 'runtime' || origin === 'gc' ? {} : { file, line: hot ?? line }),
    frameLink: widest === undefined ? '' : linkTo(widest),
    self: formatMicroseconds(self),
    share: formatShare(self, busy),
    total: formatMicroseconds(total),
    bar: toBar({ start: 0, duration: self }, { start: 0, duration: busy }),
    lines:
      excerpt === undefined
        ? []
        : highlightSource(excerpt.file, excerpt.lines).map((tokens, index) => ({
            number: excerpt.start + index,
            isMarked: excerpt.start + index === hot,
            tokens,
          })),
  }
}

/** A bar: `x` and `width` are in percent of the picture. */
interface FlameBar {
  readonly name: string
  /** All its data in one line. */
  readonly text: string
  readonly origin: StoredFunction['origin']
  readonly x: string
  readonly row: number
  readonly width: string
  /** Where its name has room: nowhere, on a wide screen or on all screens. */
  readonly label: '' | 'wide' | 'always'
  /** The index of the call that it shows in the whole width. */
  readonly frame: number
}

interface FlameOptions {
  /** The call that fills the picture; by default all calls. */
  readonly frame: StoredSample | undefined
  /** Whether runs of foreign calls are drawn one by one. */
  readonly isUnfolded: boolean
  /** The address of the flame graph of a call. */
  readonly linkTo: (frame: StoredSample | undefined) => string
}

const leastShare = 0.0015

const barLimit = 400

/** Labels of narrower bars would be a letter or two, on a wide screen or on all screens. */
const labelShare = { wide: 0.06, always: 0.2 }

/** A call with this share of its caller's time is the only significant call of its caller. */
const onlyShare = 0.98

/** Draws the calls of a CPU profile, the longest on the left. */
function drawFlameGraph({ busy, calls, roots }: StoredCpu, options: FlameOptions) {
  const { frame, linkTo } = options
  const whole = frame?.total ?? busy
  const bars: FlameBar[] = []
  let depth = 0
  let drawn = 0
  let folded = 0

  const draw = (call: StoredSample, at: { readonly x: number; readonly row: number }) => {
    const run = options.isUnfolded ? { first: call, last: call, count: 1 } : runOf(call)
    const { count, last } = run
    const share = shareOf(call.total, whole)
    if (share < leastShare || bars.length >= barLimit) return
    drawn += count
    folded += count - 1
    depth = Math.max(depth, at.row)
    bars.push({
      name: nameOf(run),
      text: describe(run, busy),
      origin: last.called.origin,
      x: toPercent(100 * at.x),
      row: at.row,
      width: toPercent(100 * Math.max(0, Math.min(share, 1 - at.x))),
      label: share >= labelShare.always ? 'always' : share >= labelShare.wide ? 'wide' : '',
      frame: last.index,
    })
    drawAll(last.children, { x: at.x, row: at.row + 1 })
  }

  const drawAll = (children: readonly StoredSample[], at: { x: number; row: number }) => {
    let { x } = at
    for (const child of children) {
      draw(child, { ...at, x })
      x = Math.min(1, x + shareOf(child.total, whole))
    }
  }

  if (frame === undefined) drawAll(roots, { x: 0, row: 0 })
  else draw(frame, { x: 0, row: 0 })
  return {
    rows: depth + 1,
    ticks: listTicks(createAxis(whole, whole), wholeWindow).map(({ label, x }) => ({ x: toPercent(x), label })),
    bars,
    callers: callersOf(frame).map(call => ({ name: call.called.name, link: linkTo(call) })),
    hidden: (frame === undefined ? calls.length : countWithin(frame)) - drawn,
    folded,
  }
}

/** Calls of which each is the only significant call of the one before it. */
interface Run {
  readonly first: StoredSample
  readonly last: StoredSample
  readonly count: number
}

/** A call and the only significant calls within it, up to the first call of the application. */
function runOf(call: StoredSample): Run {
  let last = call
  let count = 1
  for (let next = onlyChildOf(call); next !== undefined; next = onlyChildOf(next)) {
    last = next
    count++
  }
  return { first: call, last, count }
}

function onlyChildOf(call: StoredSample): StoredSample | undefined {
  const [child] = call.children
  if (child === undefined || isOwn(call) || isOwn(child)) return undefined
  return child.total >= call.total * onlyShare ? child : undefined
}

function nameOf({ count, last }: Run): string {
  return count === 1 ? last.called.name : `+${count - 1} › ${last.called.name}`
}

function isOwn({ called }: StoredSample): boolean {
  return called.origin === 'application'
}

const owners: Readonly<Record<StoredFunction['origin'], string>> = {
  application: 'the application',
  kernel: 'Sinfonietta',
  vendor: 'a package',
  runtime: 'Node.js',
  gc: 'the garbage collector',
}

function describe(run: Run, busy: number): string {
  const { count, first } = run
  const { called, self, total } = run.last
  const place = shortPlaceOf(called)
  const isAllOwn = self === total
  const facts = [
    `${nameOf(run)}: ${isAllOwn ? 'own ' : ''}${formatMicroseconds(total)}, ${formatShare(total, busy)}`,
    ...(self > 0 && !isAllOwn ? [`own ${formatMicroseconds(self)}`] : []),
    ...(place === '' ? [] : [place]),
    `of ${called.package ?? owners[called.origin]}`,
    ...(count > 1 ? [`through ${formatCount(count - 1, 'call')} from ${first.called.name}`] : []),
  ]
  return facts.join('; ')
}

/** The place of a function: within its package if its name is known, because it follows. */
function shortPlaceOf(called: StoredFunction): string {
  const place = placeOf(called)
  if (called.origin !== 'kernel' && called.package === undefined) return place
  return place.replace(/^(?:.*node_modules\/(?:@[^/]+\/)?[^/]+|sinfonietta)\//, '')
}

const callerLimit = 8

function callersOf(frame: StoredSample | undefined): StoredSample[] {
  const callers: StoredSample[] = []
  for (let at = frame?.caller; at !== undefined && callers.length < callerLimit; at = at.caller) callers.unshift(at)
  return callers
}

function countWithin({ children }: StoredSample): number {
  return children.reduce((sum, child) => sum + countWithin(child), 1)
}

function shareOf(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, part / whole) : 0
}

function toFacts(cpu: StoredCpu): string {
  const { busy, idle, isCut, others, samples, startup } = cpu
  return [
    `- Busy: ${formatMicroseconds(busy)}; waiting: ${formatMicroseconds(idle)}`,
    `- Samples: ${samples.toLocaleString('en')}, one every ${formatMicroseconds(intervalOf(cpu))}; start of the V8 profiler ${formatMicroseconds(startup)}`,
    `- Concurrent requests in the same samples: ${others}`,
    ...(isCut ? ['- Sampling stopped before the request ended.'] : []),
  ].join('\n')
}

function writeSpot(spot: StoredFunction, { busy }: StoredCpu): string {
  const { name, origin, package: owner = origin, self, total } = spot
  const place = placeOf(spot)
  const at = place === '' ? '' : ` at ${toSpan(place)}`
  return `${formatShare(self, busy)} ${toSpan(name)}${at} (${owner}): own ${formatMicroseconds(self)}, with its calls ${formatMicroseconds(total)}`
}
