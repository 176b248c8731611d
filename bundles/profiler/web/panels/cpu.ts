import { highlightSource } from '../../../../lib/stack/highlight.ts'
import {
  intervalOf,
  placeOf,
  readCpu,
  type StoredCpu,
  type StoredFunction,
  type StoredSample,
} from '../../profile/cpu.ts'
import { formatMicroseconds, formatShare, toTarget } from '../../profile/format.ts'
import { cpuLink, profileLink } from '../../profile/links.ts'
import type { ProfileSummary } from '../../profile/profile.ts'
import type { EditorLinks } from '../editor-links.ts'
import { toBar } from './bar.ts'
import { drawFlameGraph } from './flame-graph.ts'
import type { PanelSubject, ProfilePanel } from './panel.ts'

/** Creates the panel of the CPU profile of a request that was sampled: a flame graph and its hot spots. */
export function createCpuPanel(editor: EditorLinks): ProfilePanel {
  return {
    name: 'cpu',
    label: 'CPU',
    template: 'profiler/panels/cpu',
    hasContent: profile => readCpu(profile) !== undefined,
    toView(subject) {
      const { summary } = subject.profile
      const cpu = readCpu(subject.profile)
      return { page: cpuLink, ...describeNext(summary), ...(cpu ? viewCpu(cpu, subject, editor) : { isMissing: true }) }
    },
  }
}

/** The default values of the form: the next request like this one. */
function describeNext({ method, parent, route, url }: ProfileSummary) {
  return {
    parentLink: typeof parent === 'string' ? profileLink(parent, 'cpu') : '',
    route: route ?? '',
    method,
    target: toTarget(url).replace(/[?#].*$/s, ''),
  }
}

/** Fewer samples give imprecise times. */
const fewSamples = 50

function viewCpu(cpu: StoredCpu, { profile, query }: PanelSubject, editor: EditorLinks) {
  const { busy, calls, functions, idle, isCut, omitted, others, samples, startup } = cpu
  const frame = calls[Number(query.get('frame') || Number.NaN)]
  const isUnfolded = query.get('calls') === 'all'
  const link = profileLink(profile.summary.token, 'cpu')
  const linkTo = (call: StoredSample | undefined, isAll = isUnfolded) =>
    `${link}${call === undefined ? '' : `&frame=${call.index}`}${isAll ? '&calls=all' : ''}#flame`
  const flame = drawFlameGraph(cpu, { frame, isUnfolded, linkTo })
  const hot = functions.filter(({ self }) => self > 0)
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
