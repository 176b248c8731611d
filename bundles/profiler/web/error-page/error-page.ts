import { failedRequest } from '../../../../kernel/argument-sources.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { statusText } from '../../../../lib/http/response.ts'
import { within } from '../../../../lib/own-globals.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { writeErrorPrompt } from '../../export/conclusions.ts'
import { joinBlocks, toList, toSpan } from '../../export/markdown-text.ts'
import { findOccurrences } from '../../insight/relatives.ts'
import { findReplayObstacle, planReplay } from '../../insight/replay/replay.ts'
import type { EditorLinks } from '../../panels/editor-links.ts'
import type { ExceptionView } from '../../panels/exceptions.ts'
import { describeOccurrences, viewOccurrences, viewVerification } from '../../panels/parts.ts'
import type { FailedRequest, PanelServices, SubjectView } from '../../panels/subject-view.ts'
import { templateOf } from '../../profile/callers.ts'
import { type EventNode, type EventTree, readEventTree } from '../../profile/event-tree.ts'
import { findAnswered, readExceptions } from '../../profile/exceptions.ts'
import { shorten, toReadableUrl, toTarget } from '../../profile/format.ts'
import { home, profileLink } from '../../profile/links.ts'
import { toProfile } from '../../profile/parse-profile.ts'
import type { Profile } from '../../profile/profile.ts'
import { serializeProfile } from '../../record/collect.ts'
import type { Profiler } from '../../record/profiler.ts'
import { type CollectedData, Trace } from '../../record/trace.ts'
import { type ProfileStorage, readLimit } from '../../store/profile-storage.ts'
import { exceptionView } from '../../subjects/exception/show.ts'
import { exchangeView } from '../../subjects/exchange/show.ts'
import { logsView } from '../../subjects/logs/show.ts'
import { databaseView } from '../../subjects/queries/show.ts'
import { routerView } from '../../subjects/router/show.ts'
import type { Assets } from '../assets.ts'
import { filesOf } from '../page.ts'

interface ErrorPageServices
  extends PreviewServices,
    Pick<PanelServices, 'bundles' | 'directory' | 'editor' | 'routes' | 'view'> {
  readonly assets: Assets
  readonly storage: Pick<ProfileStorage, 'search'>
}

/** Milliseconds that the page waits for the other occurrences of its error. */
const searchLimit = 200

/** Characters; a longer message is not shown as a headline. */
const longMessage = 200

/** The longest lists in Markdown. */
const listLimit = 50

/** The views with a part of the page, in the order of its Markdown. */
const errorViews: readonly SubjectView[] = [exceptionView, databaseView, routerView, logsView, exchangeView]

/** The error page for developers: a rendering of the profile so far. */
export class ErrorPage {
  readonly #services: ErrorPageServices

  constructor(services: ErrorPageServices) {
    this.#services = services
  }

  /** Renders the page; `request` is the sub-request that the error listener made for it. */
  async toHtml(request: Request, status: number): Promise<string> {
    const { assets, editor, view } = this.#services
    const preview = createPreview(request, this.#services)
    const { answered, lineage, profile, token } = preview
    const { message, name } = answered
    const occurrences = await this.#findOccurrences(profile)
    const views = errorViews.map(async ({ name, onErrorPage }) => [
      name,
      await onErrorPage?.toView(preview, this.#services),
    ])
    const parts = Object.fromEntries(await Promise.all(views))
    const { method, url } = profile.summary
    const headline = writeHeadline(message, method, parts.router)
    const isLong = headline.length > longMessage
    const model = {
      status,
      statusText: statusText(status),
      name,
      headline,
      isLong,
      method,
      address: headline.includes(url) ? '' : toReadableUrl(toTarget(url)),
      occurrences,
      title: `${shorten(message, longMessage)} (${status} ${statusText(status)})`,
      tone: status < 500 ? 'warning' : 'error',
      markdown: writeMarkdown(preview, status, occurrences),
      prompt: writeErrorPrompt(profile, token),
      verification: token !== '' && isSafe(profile) && viewVerification(profile, 'exception'),
      profileLink: token === '' ? '' : profileLink(token),
      token,
      steps: viewSteps(findWay(lineage, token !== ''), editor),
      parts,
      // The headline is not repeated, if all of it is shown.
      exceptions: parts.exception.exceptions.map((exception: ExceptionView) =>
        exception.message === headline && !isLong ? { ...exception, message: '' } : exception,
      ),
      home,
      ...filesOf(assets),
      icon: assets.link('icon-error.svg'),
    }
    return view.render('profiler/error-page', model, request)
  }

  /** Renders the same as Markdown. */
  async toMarkdown(request: Request, status: number): Promise<string> {
    const preview = createPreview(request, this.#services)
    return writeMarkdown(preview, status, await this.#findOccurrences(preview.profile))
  }

  /** The address of the profile; `undefined` if it will not be stored. */
  linkTo(request: Request): string | undefined {
    const { profiler } = this.#services
    const main = profiler.find(request)?.main
    return main !== undefined && profiler.keeps(main) ? `${request.origin}${profileLink(main.token)}` : undefined
  }

  async #findOccurrences({ summary }: Profile) {
    if (summary.fingerprint === null) return viewOccurrences(undefined)
    const found = await within(searchLimit, this.#services.storage.search({ limit: readLimit }))
    return viewOccurrences(found && findOccurrences(found.summaries, summary))
  }
}

/** Writes the headline: the cause in words, if the router knows it, or else the message. */
function writeHeadline(message: string, method: string, { missed }: { missed: false | { allow: string } }): string {
  const allow = missed === false ? '' : missed.allow
  return allow === '' ? message : `This URL accepts ${allow.replace(/, (?=[^,]*$)/, ' and ')}, not ${method}.`
}

/** The error that is answered. @throws Error if it was not collected */
function readAnswered(profile: Profile): Preview['answered'] {
  const answered = findAnswered(profile)
  if (answered === undefined) throw new Error(`The error was not collected: ${profile.failures.exception}`)
  const { message, name } = answered
  return { name, message: message || name }
}

/** Whether the request can be sent again without a confirmation: then a fix can be verified on this page. */
function isSafe(profile: Profile): boolean {
  const plan = planReplay(profile)
  return plan.isPossible && findReplayObstacle(plan) === ''
}

function viewSteps(way: readonly Step[], editor: EditorLinks) {
  const finders: Readonly<Record<string, (name: string) => string>> = {
    route: name => editor.findRoute(name),
    controller: name => editor.findController(name),
    template: name => editor.findTemplate(name),
  }
  return way.map((step, index) => ({
    hasThrown: index === way.length - 1,
    place: editor.viewFile(finders[step.kind]?.(step.name) ?? ''),
    ...step,
  }))
}

/** Writes the page as Markdown, for terminals, issues and chats. */
function writeMarkdown(
  { lineage, profile }: Preview,
  status: number,
  occurrences: ReturnType<typeof viewOccurrences>,
): string {
  const { method, url } = profile.summary
  const shown = { profile, isPinned: false, findings: [], parent: undefined, children: [], earlier: [] }
  const write = ({ onErrorPage, toMarkdown }: SubjectView) =>
    onErrorPage?.toMarkdown?.(profile, listLimit) ?? toMarkdown?.(shown, listLimit) ?? []
  return joinBlocks([
    `# ${status} ${statusText(status)}`,
    toSpan(`${method} ${url}`),
    occurrences === false ? '' : describeOccurrences(occurrences),
    ...write(exceptionView),
    '## Path to the error',
    toList(findWay(lineage, false), listLimit, ({ kind, name }) => `${kind}: ${toSpan(name)}`),
    ...errorViews.filter(view => view !== exceptionView).flatMap(write),
  ])
}

/** One step on the path from a request to its error. */
interface Step {
  readonly kind: 'request' | 'route' | 'event' | 'listener' | 'controller' | 'template'
  readonly name: string
  /** Its place in the profile; empty when the profile will not be stored. */
  readonly link: string
}

/**
 * Finds the path from the main request to the code that threw: event, listener, controller,
 * templates, and the same in sub-requests. A stack ends at an await; the event tree contains the
 * callers before it. There are no links if the profile is not stored.
 */
function findWay(lineage: readonly Profile[], isKept: boolean): Step[] {
  const steps = lineage.flatMap((profile, index) => {
    const next = lineage[index + 1]
    const tree = readEventTree(profile)
    const nodes = next === undefined ? findThrower(tree) : findSubRequest(tree, next.summary.token)
    const templates = next === undefined ? findTemplates(profile) : []
    return [...beginningOf(profile, index), ...describe(nodes, profile), ...templates]
  })
  return isKept ? steps : steps.map(step => ({ ...step, link: '' }))
}

function beginningOf({ summary }: Profile, index: number): Step[] {
  const name = index === 0 ? summary.method : 'sub-request'
  const route = summary.route ?? ''
  const matched: Step = { kind: 'route', name: route, link: profileLink(summary.token, 'router') }
  const begun: Step = { kind: 'request', name, link: profileLink(summary.token, 'request') }
  return [begun, ...(route === '' ? [] : [matched])]
}

/** The template that was rendered, and the partials down to the one that has failed. */
function findTemplates(profile: Profile): Step[] {
  const [exception] = readExceptions(profile)
  const link = profileLink(profile.summary.token, 'exception')
  const names = exception?.frames.map(({ call }) => templateOf(call)).filter(name => name !== undefined) ?? []
  return names.reverse().map(name => ({ kind: 'template', name, link }))
}

/** Events that are dispatched after the error. */
const aftermath: readonly string[] = ['kernel.exception', 'kernel.finish_request', 'kernel.terminate']

/**
 * From the current dispatch to the innermost listener that threw; the dispatch alone when none of its listeners threw.
 */
function findThrower({ roots }: EventTree): EventNode[] {
  // The functions of another framework run in a listener or in the controller.
  const dispatches = roots.filter(({ isOfFramework, kind }) => kind === 'dispatch' && !isOfFramework)
  const exception = dispatches.findLastIndex(({ name }) => name === 'kernel.exception')
  const before = exception === -1 ? dispatches : dispatches.slice(0, exception)
  const way: EventNode[] = []
  let node = before.findLast(({ name }) => !aftermath.includes(name))
  while (node !== undefined) {
    way.push(node)
    node = node.hasThrown ? node.children.findLast(({ hasThrown }) => hasThrown) : undefined
  }
  return way
}

function findSubRequest({ nodes }: EventTree, token: string): EventNode[] {
  const way: EventNode[] = []
  let node = nodes.find(({ kind, name }) => kind === 'request' && name === token)?.parent
  while (node !== undefined) {
    way.unshift(node)
    node = node.parent
  }
  return way
}

/** The work of the kernel between its events. */
const gaps: Readonly<Record<string, string>> = {
  'kernel.request': 'finding the controller',
  'kernel.controller': 'resolving its arguments',
}

function describe(way: readonly EventNode[], { summary }: Profile): Step[] {
  const [first] = way
  const { controller, token } = summary
  const atWork: Step[] =
    controller === null ? [] : [{ kind: 'controller', name: controller, link: profileLink(token, 'time') }]
  if (first === undefined) return atWork
  const steps = way.map((node): Step => {
    const link = `${profileLink(token, 'events')}#span-${node.index}`
    return { kind: node.kind === 'call' ? 'listener' : 'event', name: node.name, link }
  })
  // The application dispatches its own events while its controller runs.
  if (!first.name.startsWith('kernel.')) return [...atWork, ...steps]
  if (first.hasThrown || way.length > 1) return steps
  if (first.name === 'kernel.controller_arguments') return atWork
  const gap = gaps[first.name]
  return gap === undefined ? [...atWork, ...steps] : [...steps, { kind: 'controller', name: gap, link: '' }]
}

/** What previews need. */
interface PreviewServices {
  readonly profiler: Pick<Profiler, 'find' | 'keeps' | 'origin'>
  /** Collects the data of a request that still runs. */
  readonly collect: (trace: Trace) => CollectedData
  readonly redactor: Redactor
}

/** The profile so far of a request that failed. It is masked, and not stored. */
interface Preview extends FailedRequest {
  /** The profiles from the main request to the sub-request that threw: usually one. */
  readonly lineage: readonly Profile[]
  /** The error that is answered. */
  readonly answered: { readonly name: string; readonly message: string }
}

/**
 * Creates the profile so far of the request that failed; `request` is the sub-request for its
 * error page. If the request is not recorded, the profile has no events and no log messages.
 */
function createPreview(request: Request, { collect, profiler, redactor }: PreviewServices): Preview {
  const failed = failedRequest(request)
  const error = request.attributes.get('exception')
  const trace = profiler.find(failed) ?? createTrace(failed)
  // A listener that replaces the error late may still run.
  trace.addThrown(error)
  const preview = (trace: Trace): Profile =>
    toProfile(JSON.parse(serializeProfile(trace, collect(trace), redactor, profiler.origin).text))
  const ancestors = ancestorsOf(trace)
  const [main = trace] = ancestors
  const profile = preview(trace)
  const lineage = [...ancestors.map(preview), profile, ...failedWithin(trace).map(preview)]
  return {
    profile,
    lineage,
    answered: readAnswered(profile),
    token: main.token !== '' && profiler.keeps(main) ? main.token : '',
  }
}

function createTrace(request: Request): Trace {
  const trace = new Trace('', request, undefined)
  const controller = request.attributes.get('_controller')
  const name = readProperty(controller, 'name')
  if (typeof name === 'string' && name !== '') trace.controller = name
  return trace
}

/** The main request first. */
function ancestorsOf({ parent }: Trace): Trace[] {
  return parent === undefined ? [] : [...ancestorsOf(parent), parent]
}

/** The last sub-request, if it ended without a response: its caller got the error. */
function failedWithin({ children }: Trace): Trace[] {
  const last = children.findLast(({ duration }) => duration !== undefined)
  return last === undefined || last.response !== undefined ? [] : [last, ...failedWithin(last)]
}
