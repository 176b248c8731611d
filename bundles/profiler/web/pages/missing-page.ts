import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { Finding } from '../../insight/findings/finding.ts'
import { findRelatives, type Relatives } from '../../insight/relatives.ts'
import type { StoredProfile } from '../../store/profile-storage.ts'
import { createRows } from './list-page.ts'
import type { PageServices } from './page-services.ts'

const latestLimit = 5

/** Renders the 404 page of a token that is not known, with the latest records to go on from; of any record without one. */
export async function renderMissing(
  token: string | undefined,
  request: Request,
  { pages, storage }: PageServices,
): Promise<Response> {
  const { summaries } = await storage.search({ limit: latestLimit })
  const title = token === undefined ? 'There are no profiles' : 'Token not found'
  return pages.render('profiler/missing', { title, token: token ?? '', rows: createRows(summaries) }, request, 404)
}

/** A record, what was found in it, and those that it leads to. */
export interface FoundRecord extends StoredProfile, Relatives {
  readonly findings: readonly Finding[]
}

/** Finds the record of a token with its relatives. A client may know the token of its response before the profile is made. */
export async function findRecord(
  token: string,
  { inspector, profiler, storage }: Pick<PageServices, 'inspector' | 'profiler' | 'storage'>,
): Promise<FoundRecord | undefined> {
  await profiler.whenWritten(token)
  const found = await storage.find(token)
  if (found === undefined) return undefined
  const { profile } = found
  const findings = (await inspector()).inspect(profile)
  return { ...found, findings, ...(await findRelatives(storage, profile)) }
}
