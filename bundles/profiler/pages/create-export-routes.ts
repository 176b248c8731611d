import { currentRequest, routeParameter } from '../../../kernel/controller/arguments.ts'
import { defineController } from '../../../kernel/controller/controller.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Assets } from '../assets.ts'
import { createCurl } from '../format/curl.ts'
import { type DataForm, type ExportKind, exportKinds, home } from '../links.ts'
import { toFetch } from '../renderings/to-fetch.ts'
import { toHar } from '../renderings/to-har.ts'
import { toHtmlFile } from '../renderings/to-html-file.ts'
import { toJson } from '../renderings/to-json.ts'
import { findChildren } from './find-children.ts'
import { type FoundRecord, findRecord } from './find-record.ts'
import { respondUnknown } from './form.ts'
import type { PageRoute } from './page-route.ts'
import type { PageServices } from './page-services.ts'
import { protect } from './protect.ts'
import { renderMissing } from './render-missing.ts'

/** What a record becomes when it is taken away. */
interface Export {
  /** Of the name of the file. */
  readonly extension: string
  readonly type: string
  /** In which form it is said that there is no such record. */
  readonly missing: 'html' | DataForm
  readonly write: (record: FoundRecord) => string | Promise<string>
}

/** Creates the files that a record can be taken away as. */
export function createExportRoutes(services: PageServices, assets: Assets): PageRoute[] {
  const exports = createExports(services, assets)
  const kind = routeParameter('kind', {
    expected: `one of ${exportKinds.join(', ')}`,
    convert: text => exportKinds.find(kind => kind === text),
  })
  return [
    {
      name: '_profiler_export',
      path: `${home}:token/export/:kind`,
      controller: defineController(
        'profiler_export',
        [routeParameter('token'), kind, currentRequest],
        async (token, kind, request) => {
          const found = await findRecord(token, services)
          const { extension, missing, type, write } = exports[kind]
          if (found === undefined) {
            return missing === 'html' ? renderMissing(token, request, services) : respondUnknown(missing, token)
          }
          const headers = {
            'content-type': type,
            'content-disposition': `attachment; filename="profile-${found.profile.summary.token}.${extension}"`,
          }
          return protect(new Response(await write(found), { headers }))
        },
      ),
    },
  ]
}

/** Commands and snippets are plain text: nobody is to run them by embedding them. */
function createExports(services: PageServices, assets: Assets): Readonly<Record<ExportKind, Export>> {
  const json = 'application/json'
  const text = 'text/plain; charset=UTF-8'
  const { panels, storage } = services
  const file = (record: FoundRecord) =>
    toHtmlFile(record, {
      ...services,
      panels: panels(),
      stylesheet: assets.stylesheet,
      findChildren: profile => findChildren(storage, profile),
    })
  return {
    har: {
      extension: 'har',
      type: json,
      missing: 'json',
      write: ({ profile }) => JSON.stringify(toHar(profile), undefined, 2),
    },
    curl: { extension: 'sh', type: text, missing: 'md', write: ({ profile }) => `${createCurl(profile)}\n` },
    fetch: { extension: 'mjs', type: text, missing: 'md', write: ({ profile }) => toFetch(profile) },
    html: { extension: 'html', type: 'text/html; charset=UTF-8', missing: 'html', write: file },
    json: {
      extension: 'json',
      type: json,
      missing: 'json',
      write: record => JSON.stringify(toJson(record), undefined, 2),
    },
  }
}
