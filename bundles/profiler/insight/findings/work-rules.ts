import path from 'node:path'
import type { FindingRule, RuleFinding } from '../../../../kernel/profiler-contract.ts'
import { packageName } from '../../../../lib/package.ts'
import { parseFrames } from '../../../../lib/stack/stack-frames.ts'
import type { SessionUseData } from '../../profile/exchange-data.ts'
import { formatCount, formatDuration, formatNumber, shorten, toOneLine } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import { readLogs } from '../../profile/logs.ts'
import type { Profile } from '../../profile/profile.ts'
import { type Render, readRenders } from '../../profile/renders.ts'
import { mostLogs } from '../../record/log-trace.ts'
import { describePlaces } from './describe-places.ts'

/** Lists of fewer items are usual on a page. */
const leastCount = 50

/** Milliseconds. A fast partial takes microseconds, so a long list of them is no problem. */
const leastTime = 20

/** Finds templates that were rendered in a loop and took notable time together. */
export const repeatedTemplateRule: FindingRule<Profile> = {
  name: 'repeated-template',
  title: 'Template rendered many times',
  find(profile) {
    const { all, pages } = readRenders(profile)
    return [pages, ...all.map(({ partials }) => partials)].flatMap(siblings =>
      [...groupBy(siblings, ({ name }) => name)].flatMap(([name, renders]) => describe(name, renders)),
    )
  },
  measure: {
    unit: 'renders',
    read: ({ values }, profile) => readRenders(profile).all.filter(({ name }) => name === values?.template).length,
  },
}

function describe(name: string, renders: readonly Render[]): RuleFinding[] {
  const time = renders.reduce((sum, { duration }) => sum + duration, 0)
  if (renders.length < leastCount || time < leastTime) return []
  return [
    {
      severity: 'warning',
      problem: `{template} was rendered ${renders.length} times in a row, ${formatDuration(time)} in total.`,
      values: { template: name },
      advice: 'Compute the results of its helpers once, in the controller, or show fewer items.',
      place: { panel: 'templates', anchor: `render-${renders[0]?.index}` },
      evidence: { count: renders.length, time },
    },
  ]
}

/** Methods of the session that change it. */
const changing: ReadonlySet<string> = new Set([
  ...['set', 'update', 'take', 'delete', 'clear', 'flash', 'regenerate', 'invalidate'],
])

/** Finds sessions that were started for a client without one, and remained empty. */
export const needlessSessionRule: FindingRule<Profile> = {
  name: 'needless-session',
  title: 'Unneeded session',
  find({ collectors, summary }) {
    const { attributes = {}, flashes = {}, metadata, uses = [] } = collectors.session ?? {}
    // An existing session may have been read for its content.
    const isNew = metadata !== undefined && metadata.createdAt >= summary.time
    const isEmpty = [attributes, flashes].every(entries => Object.keys(entries).length === 0)
    const isRead = uses.length > 0 && !uses.some(({ method }) => changing.has(method))
    if (!isNew || !isEmpty || !isRead) return []
    const [first = ''] = uses.flatMap(({ trace }) => trace)
    return [
      {
        // The page is right; only caches cannot store it.
        severity: 'info',
        problem: `The session was used (${formatCount(uses.length, 'time')}, first {place}), but the client has none and nothing was stored in it.`,
        values: { place: first || 'by an unknown caller' },
        advice: 'Use the session only where it is needed: no cache stores a response that depends on a session.',
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: uses.length },
      },
    ]
  },
}

/** Finds safe requests that changed the session: browsers load pages in advance, and crawlers and users load them again. */
export const changedSessionRule: FindingRule<Profile> = {
  name: 'changed-session',
  title: 'Session changed by a GET',
  find({ collectors, summary }) {
    const { method, status } = summary
    if (method !== 'GET' && method !== 'HEAD') return []
    const changes = (collectors.session?.uses ?? []).filter(({ method }) => changing.has(method) && method !== 'flash')
    const end = changes.find(({ method }) => method === 'invalidate')
    // A login at another site ends with a GET that redirects.
    const isStep = status >= 300 && status < 400
    const change = end ?? (isStep ? undefined : changes[0])
    if (change === undefined) return []
    return [
      {
        // A list of the last pages may be intended, but not a logout by a page that is loaded in advance.
        severity: end === undefined ? 'info' : 'warning',
        problem: `A ${method} request changed the session ({call}).`,
        values: { call: `session.${change.method}()` },
        advice:
          end === undefined
            ? 'Change the session by a POST: a GET may be repeated, and may be sent before the user follows a link.'
            : 'Log out by a POST: a GET may be sent before the user follows a link, and by a page of another site.',
        ...findCode(change),
        place: { panel: 'request', anchor: 'session' },
        evidence: { count: changes.length },
      },
    ]
  },
}

/** The line of the application that used the session. */
function findCode({ trace }: SessionUseData): Pick<RuleFinding, 'code'> {
  const outside = [`${packageName}${path.sep}`, `node_modules${path.sep}`]
  const { file, line } =
    parseFrames(trace).find(({ file }) => !outside.some(folder => file?.startsWith(folder) ?? true)) ?? {}
  return file === undefined || line === undefined ? {} : { code: { file, line } }
}

/** Finds requests that logged too much. Messages of the level `debug` do not count: production does not write them. */
export const manyLogsRule: FindingRule<Profile> = {
  name: 'many-logs',
  title: 'Many log messages',
  find(profile) {
    const { count, written } = readWritten(profile)
    if (count <= mostLogs) return []
    // The message that is one too many; it was recorded with its place.
    const located = written.slice(mostLogs, mostLogs + 1)
    const [{ message = '', template = '' } = {}] = located
    const alike = written.filter(log => (template === '' ? log.message === message : log.template === template)).length
    const text = toOneLine(template || message).replace(/\.$/, '')
    const most = alike > count / 2 ? `, ${formatNumber(alike)} of them {message}` : ''
    return [
      {
        severity: 'warning',
        problem: `The request logged ${formatNumber(count)} messages${most}.`,
        ...describePlaces(
          located,
          { message: shorten(text, messageLength) },
          'Log once for all items, or with the level debug',
        ),
        place: { panel: 'logger', anchor: `log-${located[0]?.index}` },
        evidence: { count },
      },
    ]
  },
  measure: { unit: 'log messages', read: (_, profile) => readWritten(profile).count },
}

/** The log messages of a profile without those of the level debug, and how many there were. */
function readWritten(profile: Profile) {
  const { dropped, logs } = readLogs(profile)
  const written = logs.filter(({ level }) => level !== 'debug')
  return { written, count: written.length + dropped }
}

const messageLength = 80
