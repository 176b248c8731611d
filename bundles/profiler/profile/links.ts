import type { Route } from '../../../lib/routing/route.ts'
import { toTarget } from './format.ts'
import { isToken } from './json.ts'
import type { Profile, ProfileSummary } from './profile.ts'
import { unitOf } from './units.ts'

/** All pages of the profiler are below this path. */
export const home = '/_profiler/'

/** The stream of the state of the application. */
export const stateLink: string = `${home}state`

/** Opens a place in the editor. */
export const openEditorLink: string = `${home}open-editor`

/** The page that chooses the request to be sampled. */
export const cpuLink: string = `${home}cpu`

/** The path of the page with the files that cannot be used; `target` is the page to go back to. */
export function brokenLink(target?: string): string {
  return `${home}broken${target === undefined ? '' : `?page=${encode(target)}`}`
}

/** The page of a profile. Any text may be the token: it is encoded. */
export function profileLink(token: string, panel?: string): string {
  return `${home}${encode(token)}${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** The formats in which programs read the pages: the endings of their addresses. */
export const dataForms = ['json', 'md'] as const

/** A format for programs. */
export type DataForm = (typeof dataForms)[number]

/** A profile as data; without a panel, all of it. */
export function profileDataLink(token: string, form: DataForm, panel?: string): string {
  return `${home}${encode(token)}.${form}${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** The results of a search, as data. */
export function listDataLink(form: DataForm, parameters: Readonly<Record<string, string>>): string {
  return `${home}search.${form}?${new URLSearchParams(parameters)}`
}

/** The stream of the profiles that a list will contain: of the same parameters. */
export function liveLink(parameters: Readonly<Record<string, string>>): string {
  return `${home}live?${new URLSearchParams(parameters)}`
}

/** The page of the routes, with the statistics of their requests. */
export function routesLink(parameters: Readonly<Record<string, string>> = {}): string {
  const query = String(new URLSearchParams(parameters))
  return `${home}routes${query === '' ? '' : `?${query}`}`
}

/** The page of a route of a program, or of one operation of it. */
export function routeLink({ operation, program, route }: RouteOfProgram): string {
  const more = Object.entries({ operation, program }).filter(([, value]) => value)
  return `${home}route?${[['name', route ?? ''], ...more].map(([name, value]) => `${name}=${encode(value ?? '')}`).join('&')}`
}

type RouteOfProgram = Pick<ProfileSummary, 'route'> & Partial<Pick<ProfileSummary, 'operation' | 'program'>>

/** The statistics of the routes, as data. */
export function routesDataLink(form: DataForm, parameters: Readonly<Record<string, string>>): string {
  return routesLink(parameters).replace(/routes/, `routes.${form}`)
}

/** The kinds of files that a profile can be exported as. */
export const exportKinds = ['har', 'curl', 'cpuprofile', 'html', 'json'] as const

/** A kind of export. */
export type ExportKind = (typeof exportKinds)[number]

/**
 * Lists the kinds of files that a profile can be exported as: without samples of the CPU, there is
 * no CPU profile, and only of a request there are forms that repeat it.
 */
export function exportKindsOf({ collectors, summary }: Profile): readonly ExportKind[] {
  const { isExchange } = unitOf(summary)
  return exportKinds.filter(kind => {
    if (kind === 'cpuprofile') return collectors.cpu !== undefined
    return isExchange || (kind !== 'har' && kind !== 'curl')
  })
}

/** A profile as a file. */
export function exportLink(token: string, kind: ExportKind): string {
  return `${home}${encode(token)}/export/${kind}`
}

/** The toolbar's view of a profile; the path is Symfony's. */
export function toolbarLink(token: string): string {
  return `/_wdt/${encode(token)}`
}

/**
 * Takes the errors of a page in the browser. Below the path of the toolbar, which the policy of
 * the page allows already.
 */
export function browserErrorsLink(token: string): string {
  return `${toolbarLink(token)}/browser-errors`
}

/** The page of the latest profile. */
export function latestLink(panel?: string): string {
  return `${home}latest${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** Pins or unpins a profile, then leads back to the panel. */
export function changeLink(token: string, change: 'pin' | 'unpin', panel: string): string {
  return `${home}${encode(token)}/${change}?panel=${encode(panel)}`
}

/** Pins or unpins a profile, then leads back to the list that these parameters describe. */
export function listChangeLink(token: string, change: 'pin' | 'unpin', parameters: string): string {
  return `${home}${encode(token)}/${change}?list=${encode(parameters)}`
}

/** Replays the request of a profile. A form asks for values that were not stored. */
export function replayLink(token: string): string {
  return `${home}${encode(token)}/replay`
}

/** Replays the request of a profile, and answers whether a flaw is gone. */
export function verifyLink(token: string): string {
  return `${home}${encode(token)}/verify`
}

/** The content of the response: a page as a preview, other content as text. */
export function contentLink(token: string): string {
  return `${home}${encode(token)}/content`
}

/** The HTML of a mail, as a preview. */
export function mailLink(token: string, index: number): string {
  return `${home}${encode(token)}/mail/${index}`
}

/** The page of all mails. */
export const mailsLink: string = `${home}mails`

/** The comparison of two profiles. */
export function compareLink(first: string, second: string): string {
  return `${home}compare?a=${encode(first)}&b=${encode(second)}`
}

/** The comparison of a profile with the previous profile of the same request. */
export function compareWithPreviousLink(token: string): string {
  return `${home}compare?b=${encode(token)}`
}

/** The list of the results of a search. The token is that of the first result, and has no effect. */
export function listLink(parameters: Readonly<Record<string, string>>, token = 'empty'): string {
  return `${home}${encode(token)}/search/results?${new URLSearchParams(parameters)}`
}

/** Each path of the profiler begins with one of these. They have no slash at the end, which the router adds. */
const beginnings: readonly string[] = [home, toolbarLink('')]

/** Whether a path is one of the profiler. */
export function isOwnPath(path: string): boolean {
  const folder = `${path}/`
  return beginnings.some(beginning => folder.startsWith(beginning))
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/**
 * Names a sub-request after its controller, if its profile is stored, and returns the token of its profile, which is
 * empty when it is damaged.
 */
export function describeSubRequest({ name: token }: { readonly name: string }, children: readonly ProfileSummary[]) {
  const child = children.find(child => child.token === token)
  return {
    name: child === undefined ? 'Sub-Request' : `Sub-Request ${child.controller || toTarget(child.url)}`,
    token: isToken(token) ? token : '',
  }
}

/** The path of a route that can be a link: it has no parameter, and answers GET. Empty for other routes. */
export function visitLink({ methods, path }: Pick<Route, 'methods' | 'path'>): string {
  const isRead = methods.length === 0 || methods.includes('GET')
  return path.names.length === 0 && isRead ? path.source : ''
}

/** The routes of the application, without those of the profiler itself. */
export function shownRoutes(routes: Iterable<Route>): Route[] {
  return [...routes].filter(({ name }) => !isOwnRoute(name))
}

/** Whether a route is of the profiler itself. */
export function isOwnRoute(name: string): boolean {
  return /^_(?:profiler|wdt)/.test(name)
}
