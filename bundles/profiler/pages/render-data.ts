import type { Request } from '../../../lib/http/request.ts'
import type { Response } from '../../../lib/http/response.ts'
import type { DataForm } from '../links.ts'
import { findLatest } from '../reading/find-latest.ts'
import { listPanels } from '../renderings/list-panels.ts'
import { listToJson } from '../renderings/list-to-json.ts'
import { listToMarkdown } from '../renderings/list-to-markdown.ts'
import { toJson } from '../renderings/to-json.ts'
import { toMarkdown } from '../renderings/to-markdown.ts'
import { findRecord } from './find-record.ts'
import { respondData, respondMissing, respondUnknown } from './form.ts'
import type { PageServices } from './page-services.ts'
import { parseListRequest } from './parse-list-request.ts'
import { searchList } from './search-list.ts'

/** Answers with the data of a record, or with that of one panel of it: of any that has one, or of any collector. */
export async function renderRecordData(
  token: string,
  form: DataForm,
  { query }: Request,
  services: PageServices,
): Promise<Response> {
  const found = await findRecord(token, services)
  if (found === undefined) return respondUnknown(form, token)
  const panel = query.get('panel') || undefined
  if (panel !== undefined && !listPanels(await services.panels(), found.profile).includes(panel)) {
    return respondMissing(form, 'The record has no panel', panel)
  }
  return respondData(form, toJson(found, panel), () => toMarkdown(found, panel))
}

/** Answers with the data of the latest record. */
export async function renderLatestData(form: DataForm, request: Request, services: PageServices): Promise<Response> {
  const latest = await findLatest(services.storage)
  if (latest === undefined) return respondMissing(form, 'Nothing was recorded yet.')
  return renderRecordData(latest.token, form, request, services)
}

/** Answers with what a search finds. */
export async function renderListData(form: DataForm, { query }: Request, { storage }: PageServices): Promise<Response> {
  const wanted = parseListRequest(query)
  const list = listToJson(await searchList(storage, wanted), wanted)
  return respondData(form, list, () => listToMarkdown(list))
}
