import path from 'node:path'
import { asId, asInteger, asText, type Bundle, checkedForm, queryValue, routeParameter } from 'sinfonietta'
import type { Database } from '../database/database.ts'
import { Photos } from './photos.ts'
import { newTool, ToolPages } from './tool-pages.ts'
import { Tools } from './tools.ts'

/** Users lend tools to each other. */
export function createToolsBundle(database: Database): Bundle {
  return {
    name: 'tools',
    register(app) {
      const pages = new ToolPages(app, new Tools(database), new Photos(path.join(app.directory, 'var/photos')))
      const search = { text: queryValue('q', asText, ''), page: queryValue(asInteger, 1) }
      const id = routeParameter(asId)
      app.routes.get('tools', '/', search, ({ page, text }, request) => pages.list(request, text, page))
      app.routes.group({ prefix: '/tools', guard: 'member' }, routes => {
        routes.get('tool_new', '/new', request => pages.showForm(request))
        routes.post('tool_add', '', { form: checkedForm(newTool) }, ({ form }, request) => pages.add(request, form))
        routes.get('tool', '/:id', { id }, ({ id }, request) => pages.show(request, id))
        routes.get('tool_photo', '/:id/photo', { id }, ({ id }, request) => pages.showPhoto(request, id))
        routes.post('tool_borrow', '/:id/borrow', { id }, ({ id }, request) => pages.borrow(request, id))
        routes.post('tool_return', '/:id/return', { id }, ({ id }, request) => pages.giveBack(request, id))
        routes.group({ guard: 'admin' }, routes => {
          routes.post('tool_remove', '/:id/remove', { id }, ({ id }) => pages.remove(id))
        })
      })
    },
  }
}
