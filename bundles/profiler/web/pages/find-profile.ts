import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { Relatives, ShownProfile } from '../../insight/relatives.ts'
import { showProfile } from '../../insight/show-profile.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { renderPage } from '../respond.ts'
import { createRows } from './list-page.ts'

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

const latestLimit = 5

/** Renders the 404 page of an unknown token, with the latest profiles; without a token, of an empty store. */
export async function renderMissing(
  token: string | undefined,
  request: Request,
  app: Pick<ProfilerApplication, 'assets' | 'storage' | 'view'>,
): Promise<Response> {
  const { summaries } = await app.storage.search({ limit: latestLimit })
  const title = token === undefined ? 'No profiles' : 'Token not found'
  return renderPage('profiler/missing', { title, token: token ?? '', rows: createRows(summaries) }, request, app, 404)
}
