import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { mainRequests, type Relatives, type ShownProfile, showProfile } from '../../insight/relatives.ts'
import { isBrowserProbe } from '../../insight/summary-view.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { createRows, listColumns, selectColumns } from './list-rows.ts'

/** The services that find a profile. */
export type ProfileServices = Pick<ProfilerApplication, 'inspector' | 'storage'> & {
  readonly profiler: Pick<Profiler, 'whenWritten'>
}

/** Finds the profile of a token, with its relatives and findings. */
export async function findProfile(
  token: string,
  { inspector, profiler, storage }: ProfileServices,
): Promise<(ShownProfile & Relatives) | undefined> {
  // The client knows the token of its response before the profile is stored.
  await profiler.whenWritten(token)
  const found = await storage.find(token)
  if (found === undefined) return undefined
  return showProfile(found, storage, await inspector())
}

/** The number of latest profiles, and of those that are searched: browsers ask for icons. */
const latestLimit = 5
const searchLimit = 50

/** Renders the 404 page of an unknown token, with the latest profiles; without a token, of an empty store. */
export async function renderMissing(
  token: string | undefined,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'editor' | 'storage' | 'view'>,
): Promise<Response> {
  const found = await app.storage.search({ filters: [mainRequests], limit: searchLimit })
  const summaries = found.summaries.filter(summary => !isBrowserProbe(summary)).slice(0, latestLimit)
  const title = token === undefined ? 'No profiles' : 'Token not found'
  const rows = createRows(
    summaries.map(summary => ({ summary, main: summary, depth: 0 })),
    { editor: app.editor },
  )
  const columns = listColumns(selectColumns(summaries))
  return renderPage('profiler/missing', { title, token: token ?? '', columns, rows }, request, app, 404)
}
