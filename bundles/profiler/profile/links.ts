import type { Route } from '../../../lib/routing/route.ts'
import { toTarget } from './format.ts'
import type { ProfileSummary } from './profile.ts'
import { isToken } from './schema.ts'

/** Below this path is all that the profiler shows. */
export const home = '/_profiler/'

/** The page that says which request is to be sampled. */
export const cpuLink: string = `${home}cpu`

/** The page of a profile; any text will do as a token, and leads nowhere else. */
export function recordLink(token: string, panel?: string): string {
  return `${home}${encode(token)}${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** The forms in which programs read what the pages show; the endings of addresses. */
export const dataForms = ['json', 'md'] as const

/** One of them. */
export type DataForm = (typeof dataForms)[number]

/** A profile as data; without a panel, all of it. */
export function recordDataLink(token: string, form: DataForm, panel?: string): string {
  return `${home}${encode(token)}.${form}${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** What a search finds, as data. */
export function listDataLink(form: DataForm, parameters: Readonly<Record<string, string>>): string {
  return `${home}search.${form}?${new URLSearchParams(parameters)}`
}

/** How the requests of each route went. */
export function routesLink(parameters: Readonly<Record<string, string>> = {}): string {
  const query = String(new URLSearchParams(parameters))
  return `${home}routes${query === '' ? '' : `?${query}`}`
}

/** The same as data. */
export function routesDataLink(form: DataForm, parameters: Readonly<Record<string, string>>): string {
  return routesLink(parameters).replace(/routes/, `routes.${form}`)
}

/** The kinds of files that a profile can be exported as. */
export const exportKinds = ['har', 'curl', 'fetch', 'html', 'json'] as const

/** One of them. */
export type ExportKind = (typeof exportKinds)[number]

/** A profile as a file. */
export function exportLink(token: string, kind: ExportKind): string {
  return `${home}${encode(token)}/export/${kind}`
}

/** The toolbar's view of a profile; the path is Symfony's. */
export function toolbarLink(token: string): string {
  return `/_wdt/${encode(token)}`
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

/** Replays the request of a profile, after a form asks for what was never stored. */
export function replayLink(token: string): string {
  return `${home}${encode(token)}/replay`
}

/** Two profiles side by side. */
export function compareLink(first: string, second: string): string {
  return `${home}compare?a=${encode(first)}&b=${encode(second)}`
}

/** A profile beside the one before it that asked for the same. */
export function compareWithPreviousLink(token: string): string {
  return `${home}compare?b=${encode(token)}`
}

/** The list of what a search finds. The token only says what was found first. */
export function listLink(parameters: Readonly<Record<string, string>>, token = 'empty'): string {
  return `${home}${encode(token)}/search/results?${new URLSearchParams(parameters)}`
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** A sub-request as an event tree and a timeline show it. */
export interface SubRequest {
  readonly name: string
  /** Of its profile; empty for what is no token. */
  readonly token: string
}

/** Names a sub-request after its controller, where its profile is there, and gives the token of its profile. */
export function describeSubRequest(
  { name: token }: { readonly name: string },
  children: readonly ProfileSummary[],
): SubRequest {
  const child = children.find(child => child.token === token)
  return {
    name: child === undefined ? 'Sub-Request' : `Sub-Request ${child.controller || toTarget(child.url)}`,
    token: isToken(token) ? token : '',
  }
}

/** The path of a route when it can be followed as a link: nothing is left open in it, and it answers GET. Else empty. */
export function visitLink({ methods, path }: Pick<Route, 'methods' | 'path'>): string {
  const isRead = methods.length === 0 || methods.includes('GET')
  return path.names.length === 0 && isRead ? path.source : ''
}
