import { CommandUsageError, type ConsoleCommand, exitCodes } from '../../../kernel/contracts/console-command.ts'
import type { Cell, Column, Document } from '../../../lib/console/document.ts'
import { knownMethods } from '../../../lib/http/request-target.ts'
import { formatMicroseconds, formatShare, formatTime } from '../profile/format.ts'
import { shownRoutes } from '../profile/links.ts'
import type { Profile } from '../profile/profile.ts'
import { placeOf, readCpu, type StoredCpu } from '../subjects/cpu/read.ts'
import { type Arming, createArming, describeTarget, readTarget } from '../subjects/cpu/record.ts'
import type { CommandServices } from './profiler-list.ts'

type CpuServices = Pick<CommandServices, 'armFile' | 'routes' | 'storage'>

/** Creates the command that makes the servers of the application sample a request. */
export function createProfilerCpu({ armFile: file, routes, storage }: CpuServices): ConsoleCommand {
  return {
    name: 'profiler:cpu',
    description: 'Samples the CPU during the next request of a route',
    arguments: [
      {
        name: 'route',
        description: 'the name of the route; without it and --path, the command shows which request will be sampled',
        isOptional: true,
        suggest: () => shownRoutes(routes).map(({ name, path }) => [name, path.source] as const),
      },
    ],
    options: [
      { name: 'path', value: 'path', description: 'instead of a route: the next request for this path' },
      {
        name: 'method',
        value: 'name',
        choices: knownMethods,
        description: 'the method of that request; by default GET',
      },
      { name: 'wait', description: 'waits for the request, and lists the functions that took the most time' },
      { name: 'off', description: 'cancels the order' },
    ],
    examples: [
      { line: 'profiler:cpu home', purpose: 'samples the next request of this route' },
      {
        line: 'profiler:cpu --path / --wait',
        purpose: 'waits for the request, and lists the hot spots',
      },
      { line: 'profiler:cpu --off', purpose: 'cancels the order' },
    ],
    async run({ arguments: { route }, options: { method, off, path, wait }, signal }, output) {
      if (off !== undefined && (route ?? path ?? method ?? wait) !== undefined)
        throw new CommandUsageError('--off cancels any order: it takes no route and no other option.')
      if (route !== undefined && (path ?? method) !== undefined)
        throw new CommandUsageError('A route has its own paths and methods: leave out --path and --method.')
      if (off !== undefined) {
        file.remove()
        output.print(toStatus(undefined))
        return exitCodes.success
      }
      if (route === undefined && path === undefined) {
        const arming = file.read()
        output.print(toStatus(arming && arming.until > Date.now() ? arming : undefined))
        return exitCodes.success
      }
      const target = readTarget({ route, path, method }, routes)
      if (typeof target === 'string') throw new CommandUsageError(target)
      const arming = createArming(target, Date.now())
      file.write(arming)
      if (wait === undefined) {
        output.print(toStatus(arming))
        return exitCodes.success
      }
      output.note(`Waiting for ${describeTarget(target)}.`)
      const sampled = await waitForSamples(arming, storage, signal)
      if (sampled === undefined) {
        file.remove()
        output.error('The request did not come.')
        return exitCodes.failure
      }
      output.print(toDocument(sampled.profile, sampled.cpu))
      return exitCodes.success
    },
  }
}

function toStatus(arming: Arming | undefined): Document {
  if (arming === undefined) return { blocks: [{ kind: 'text', text: 'No CPU profile scheduled.' }], json: null }
  const { target, until } = arming
  const { clock, iso } = formatTime(until)
  const text = `Servers of this project wait for ${describeTarget(target)}, until ${clock} UTC.`
  return { blocks: [{ kind: 'text', text }], json: { target, until: iso } }
}

/**
 * Resolves with the next profile that has samples; with `undefined` if none is stored in time, or
 * if the command is aborted.
 */
function waitForSamples(
  { until }: Arming,
  storage: CpuServices['storage'],
  signal: AbortSignal,
): Promise<{ readonly profile: Profile; readonly cpu: StoredCpu } | undefined> {
  return new Promise(resolve => {
    const settle: typeof resolve = sampled => {
      clearTimeout(timer)
      end()
      resolve(sampled)
    }
    const timer = setTimeout(settle, until - Date.now(), undefined)
    const end = storage.tail(({ token }) => {
      void storage.find(token).then(stored => {
        // The profile may have been deleted meanwhile.
        if (stored === undefined) return
        const cpu = readCpu(stored.profile)
        if (cpu !== undefined) settle({ profile: stored.profile, cpu })
      })
    })
    signal.addEventListener('abort', () => settle(undefined), { once: true })
    if (signal.aborted) settle(undefined)
  })
}

const columns: readonly Column[] = [
  { title: 'Own time', align: 'right', cut: 'never' },
  { title: 'Share', align: 'right', cut: 'never' },
  { title: 'With calls', align: 'right', cut: 'never', isOptional: true },
  { title: 'Function' },
  { title: 'Place' },
]

const spotLimit = 20

function toDocument({ data, summary }: Profile, { busy, functions }: StoredCpu): Document {
  const { token } = summary
  const spots = functions.filter(({ self }) => self > 0).slice(0, spotLimit)
  const rows = spots.map((spot): Cell[] => [
    formatMicroseconds(spot.self),
    formatShare(spot.self, busy),
    formatMicroseconds(spot.total),
    { text: spot.name, tone: spot.origin === 'application' ? 'strong' : 'plain' },
    { text: placeOf(spot), tone: 'muted' },
  ])
  return {
    blocks: [
      { kind: 'table', table: { columns, rows } },
      {
        kind: 'text',
        text: `The flame graph is in the profile ${token}: /_profiler/${token}?panel=cpu`,
        tone: 'muted',
      },
    ],
    json: { token, cpu: data.cpu },
  }
}
