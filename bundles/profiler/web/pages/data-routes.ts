import { currentRequest, defineController, routeParameter } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { toJson } from '../../export/json.ts'
import { listToJson, listToMarkdown } from '../../export/list.ts'
import { toMarkdown } from '../../export/markdown.ts'
import { findLatest } from '../../insight/latest.ts'
import { parseListRequest, searchList } from '../../insight/list-request.ts'
import { type DataForm, dataForms, type ExportKind, exportKinds, home } from '../../profile/links.ts'
import type { Assets } from '../assets.ts'
import { listPanels } from '../export-profile.ts'
import { respondData, respondMissing, respondUnknown } from './form.ts'
import { findRecord } from './missing-page.ts'
import { type PageRoute, type PageServices, protect } from './page-services.ts'

/** Creates the stable addresses of what the pages show, as JSON and as Markdown. Their code is loaded with the first use. */
export function createDataRoutes(services: PageServices): PageRoute[] {
  const form = routeParameter('form', {
    expected: dataForms.join(' or '),
    convert: text => dataForms.find(form => form === text),
  })
  // With another ending it is a token that is not known.
  const requirements = { form: dataForms.join('|') }
  return [
    {
      name: '_profiler_search_data',
      path: `${home}search.:form`,
      requirements,
      controller: defineController('profiler_search_data', [form, currentRequest], async (form, request) => {
        return renderListData(form, request, services)
      }),
    },
    {
      name: '_profiler_latest_data',
      path: `${home}latest.:form`,
      requirements,
      controller: defineController('profiler_latest_data', [form, currentRequest], async (form, request) => {
        return renderLatestData(form, request, services)
      }),
    },
    {
      name: '_profiler_routes_data',
      path: `${home}routes.:form`,
      requirements,
      controller: defineController('profiler_routes_data', [form, currentRequest], async (form, request) => {
        const { renderRoutes } = await import('./routes-page.ts')
        return renderRoutes(form, request, services)
      }),
    },
    {
      name: '_profiler_data',
      path: `${home}:record.:form`,
      requirements,
      controller: defineController(
        'profiler_data',
        [routeParameter('record'), form, currentRequest],
        async (token, form, request) => {
          return renderRecordData(token, form, request, services)
        },
      ),
    },
  ]
}

/** The file that a record becomes when it is taken away. */
interface ExportFile {
  /** Of its name. */
  readonly extension: string
  readonly type: string
  /** In which form it is said that there is no such record. */
  readonly missing: 'html' | DataForm
}

const json = 'application/json'
/** Commands and snippets are plain text: nobody is to run them by embedding them. */
const text = 'text/plain; charset=UTF-8'

const files: Readonly<Record<ExportKind, ExportFile>> = {
  har: { extension: 'har', type: json, missing: 'json' },
  curl: { extension: 'sh', type: text, missing: 'md' },
  fetch: { extension: 'mjs', type: text, missing: 'md' },
  html: { extension: 'html', type: 'text/html; charset=UTF-8', missing: 'html' },
  json: { extension: 'json', type: json, missing: 'json' },
}

/** Creates the files that a record can be taken away as. */
export function createExportRoutes(services: PageServices, assets: Assets): PageRoute[] {
  const kind = routeParameter('kind', {
    expected: `one of ${exportKinds.join(', ')}`,
    convert: text => exportKinds.find(kind => kind === text),
  })
  return [
    {
      name: '_profiler_export',
      path: `${home}:record/export/:kind`,
      controller: defineController(
        'profiler_export',
        [routeParameter('record'), kind, currentRequest],
        async (token, kind, request) => {
          const found = await findRecord(token, services)
          const { extension, missing, type } = files[kind]
          if (found === undefined) {
            if (missing !== 'html') return (await import('./form.ts')).respondUnknown(missing, token)
            const { renderMissing } = await import('./missing-page.ts')
            return renderMissing(token, request, services)
          }
          const headers = {
            'content-type': type,
            'content-disposition': `attachment; filename="profile-${found.profile.summary.token}.${extension}"`,
          }
          const { writeRecord } = await import('../export-profile.ts')
          return protect(new Response(await writeRecord(kind, found, { ...services, assets }), { headers }))
        },
      ),
    },
  ]
}

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
