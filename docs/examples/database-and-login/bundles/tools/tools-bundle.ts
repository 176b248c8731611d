import path from 'node:path'
import { asInteger, asText, type Bundle, checkedForm, currentRequest, queryValue } from 'sinfonietta'
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
      const search = [currentRequest, queryValue('q', asText, ''), queryValue('page', asInteger, 1)] as const
      const add = [currentRequest, checkedForm(newTool)] as const
      const forMembers = {
        prefix: '/tools',
        requirements: { id: /[1-9]\d{0,8}/ },
        defaults: { _role: 'member' },
      } as const

      app.routes.get('tools', '/', search, (...values) => pages.list(...values))
      app.routes.group(forMembers, routes => {
        routes.get('tool_new', '/new', request => pages.showForm(request))
        routes.post('tool_add', '', add, (...values) => pages.add(...values))
        routes.get('tool', '/:id', (request, { id }) => pages.show(request, Number(id)))
        routes.get('tool_photo', '/:id/photo', (request, { id }) => pages.showPhoto(request, Number(id)))
        routes.post('tool_borrow', '/:id/borrow', (request, { id }) => pages.borrow(request, Number(id)))
        routes.post('tool_return', '/:id/return', (request, { id }) => pages.giveBack(request, Number(id)))
        routes.group({ defaults: { _role: 'admin' } }, routes => {
          routes.post('tool_remove', '/:id/remove', (_request, { id }) => pages.remove(Number(id)))
        })
      })
    },
  }
}
