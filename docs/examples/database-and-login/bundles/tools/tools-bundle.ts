import {
  asId,
  asIntegerFrom,
  asText,
  type Bundle,
  checkedForm,
  queryValue,
  Response,
  routeParameter,
} from 'sinfonietta'
import * as v from 'valibot'
import { userOf } from '../accounts/guards.ts'
import { createCsvResponse } from '../csv.ts'
import type { Database } from '../database/database.ts'
import type { Outbox } from '../mails/outbox.ts'
import { inLanguages } from '../texts/texts-bundle.ts'
import { Tools } from './tools.ts'

const newTool = v.object({ name: v.pipe(v.string(), v.trim(), v.nonEmpty('What is it?'), v.maxLength(100)) })

const pageSize = 20

/** Users lend tools to each other. */
export function createToolsBundle(database: Database, outbox: Outbox): Bundle {
  return {
    name: 'tools',
    register({ routes, view }) {
      const tools = new Tools(database, outbox)
      const query = { page: queryValue(asIntegerFrom(1, 10_000), 1), q: queryValue(asText, '') }
      routes.group(inLanguages, routes => {
        routes.get('home', '/', query, async ({ page, q }, request) => {
          const { count, tools: shown } = await tools.search(q, pageSize, (page - 1) * pageSize)
          const user = request.attributes.get('user')
          const model = {
            q,
            count,
            tools: shown.map(tool => ({ ...tool, isMine: user !== undefined && tool.borrowerId === user.id })),
            previous: page > 1 ? page - 1 : undefined,
            next: page * pageSize < count ? page + 1 : undefined,
            isAdmin: user?.role === 'admin',
            notices: await request.session.flashes('notice'),
          }
          return Response.html(view.render('tools/list', model, request))
        })

        routes.group({ prefix: '/tools', guard: 'member' }, routes => {
          routes.get('tools_csv', '.csv', { q: query.q }, async ({ q }) => {
            const { tools: rows } = await tools.search(q, 10_000, 0)
            const table = [['Name', 'Owner', 'Borrower'], ...rows.map(each => [each.name, each.owner, each.borrower])]
            return createCsvResponse('tools.csv', table)
          })
          routes.get('tool_new', '/new', async request =>
            Response.html(view.render('tools/new', { issues: {}, values: {} }, request)),
          )
          routes.post('tool_add', '', { form: checkedForm(newTool) }, async ({ form }, request) => {
            if (form.issues) return Response.html(view.render('tools/new', form, request), { status: 422 })
            await tools.add(form.value.name, userOf(request).id)
            return request.redirectTo('home')
          })
          const id = routeParameter(asId)
          routes.post('tool_borrow', '/:id/borrow', { id }, async ({ id }, request) => {
            const isLent = await tools.borrow(id, userOf(request).id)
            if (!isLent) await request.session.flash('notice', 'Another member was faster.')
            return request.redirectBack('home')
          })
          routes.post('tool_return', '/:id/return', { id }, async ({ id }, request) => {
            await tools.giveBack(id, userOf(request).id)
            return request.redirectBack('home')
          })
          routes.group({ guard: 'admin' }, routes => {
            routes.post('tool_remove', '/:id/remove', { id }, async ({ id }, request) => {
              await tools.remove(id)
              return request.redirectBack('home')
            })
          })
        })
      })
    },
  }
}
