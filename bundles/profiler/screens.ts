import type { Application } from '../../kernel/bundle.ts'
import { showPath } from '../../lib/stack/stack-frames.ts'
import { addMcp } from './cli/mcp/server.ts'
import type { Inspector } from './insight/findings/inspector.ts'
import type { PossibleReplay, Replayer } from './insight/replay/replay.ts'
import { createEditorLinks, type EditorLinks } from './panels/editor-links.ts'
import type { Profiler } from './record/profiler.ts'
import type { RecordingPolicy } from './record/recording-policy.ts'
import type { ProfileStorage } from './store/profile-storage.ts'
import type { OtherPrograms } from './store/united-storage.ts'
import type { ArmFile, CpuProfiler } from './subjects/cpu/record.ts'
import { type Assets, createAssets } from './web/assets.ts'
import type { BrokenSources } from './web/page.ts'
import { addRoutes, createFindOwnPage, type FindOwnPage, writeSourceProblem } from './web/routes.ts'

/** What records the requests whose profiles are shown. */
interface ShownRecording {
  readonly profiler: Profiler
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly cpu: CpuProfiler
  readonly armFile: ArmFile
}

interface ScreenOptions {
  /** Whether the profiles are those of other servers: there are no routes and no console commands of an application. */
  readonly isViewer: boolean
  readonly programs: OtherPrograms
  /** Most requests are never replayed: the code is loaded with the first replay. */
  readonly loadReplayer: (plan: PossibleReplay) => Promise<Pick<Replayer, 'replay'>>
}

/** The parts of the screens that other parts of the profiler use. */
interface Screens {
  readonly assets: Assets
  readonly editor: EditorLinks
  readonly findOwnPage: FindOwnPage
}

/** Adds all that shows profiles to an application: the pages, the commands, and the tools for coding agents. */
export function addScreens(
  app: Application,
  { armFile, cpu, policy, profiler, storage }: ShownRecording,
  { isViewer, loadReplayer, programs }: ScreenOptions,
): Screens {
  const assets = createAssets()
  app.signals.on('files.changed', () => assets.forget())
  const editor = createEditorLinks(app)
  let loaded: Promise<Inspector> | undefined
  const inspector = () => {
    loaded ??= import('./insight/findings/inspector.ts').then(({ Inspector }) => new Inspector(app.findingRules))
    return loaded
  }
  const panels = async () => (await import('./subjects/views.ts')).listViews(app.collectors)
  let brokenSources: BrokenSources = { problems: [], served: 'current' }
  app.signals.on('sources.broken', value => {
    brokenSources = value
  })
  /** Whether a profile in a store of several machines is of what this process cannot reach. */
  const isElsewhere = ({ origin, token }: PossibleReplay) => {
    const isOther =
      !programs.hasFilesOf({ ...origin, token }) || (isViewer && origin.machine !== profiler.origin.machine)
    return storage.isShared === true && isOther && programs.ownerOf(token) === undefined
  }
  const replayer: Pick<Replayer, 'replay'> = {
    async replay(plan, input) {
      if (isElsewhere(plan)) {
        return { problem: 'The profile is of another program or machine: the profiler there replays it.' }
      }
      const [mistake] = brokenSources.served === 'current' ? [] : brokenSources.problems
      if (mistake === undefined) return (await loadReplayer(plan)).replay(plan, input)
      const text = writeSourceProblem(mistake, app.directory)
      return { problem: `The application still runs an older version, because a file has a mistake: ${text}` }
    },
  }
  const services = {
    ...app,
    profiler,
    storage,
    policy,
    cpu,
    assets,
    editor,
    panels,
    inspector,
    replayer,
    isViewer,
    programs,
    brokenSources: () => brokenSources,
  }

  // In this order: the route `/_profiler/:token` matches the path of the MCP route, too.
  const ownControllers = new Set([addMcp(services), ...addRoutes(services)])
  const findOwnPage = createFindOwnPage(app.routes, ownControllers)
  app.isolated.push(request => findOwnPage(request) !== undefined)
  app.signals.on('kernel.booted', () => reportReplaced(app))
  app.commands.push(async () => {
    const { createCommands } = await import('./cli/create-commands.ts')
    const boot = async () => prepareForRequests(app)
    return createCommands({ ...services, inspector: await inspector(), armFile, boot })
  })
  return { assets, editor, findOwnPage }
}

/** Boots the kernel as a server does: a console command starts with an assembled kernel only, and ends its process. */
function prepareForRequests(app: Application): void {
  app.view.load()
  app.signals.emit('kernel.booted', undefined)
}

/** The view models of the profiler change with its versions: a copy of an old template would fail in a render. */
function reportReplaced({ directory, logger, view }: Application): void {
  const replaced = view.files().filter(({ name, replaces }) => name.startsWith('profiler/') && replaces !== undefined)
  if (replaced.length === 0) return
  const files = replaced.map(({ file }) => showPath(file, directory)).join(', ')
  logger.channel('profiler').warning('The application replaces templates of the profiler: {files}.', { files })
}
