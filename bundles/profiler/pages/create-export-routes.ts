import { currentRequest, defineController, routeParameter } from '../../../kernel/controller.ts'
import { Response } from '../../../lib/http/response.ts'
import type { Assets } from '../assets.ts'
import { type DataForm, type ExportKind, exportKinds, home } from '../links.ts'
import { findRecord } from './find-record.ts'
import type { PageRoute } from './page-route.ts'
import type { PageServices } from './page-services.ts'
import { protect } from './protect.ts'

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
            const { renderMissing } = await import('./render-missing.ts')
            return renderMissing(token, request, services)
          }
          const headers = {
            'content-type': type,
            'content-disposition': `attachment; filename="profile-${found.profile.summary.token}.${extension}"`,
          }
          const { writeRecord } = await import('../renderings/write-record.ts')
          return protect(new Response(await writeRecord(kind, found, { ...services, assets }), { headers }))
        },
      ),
    },
  ]
}
