import { type Application, type Bundle, type Controller, defineController, Response } from 'sinfonietta'
import { siteSettings } from './settings.ts'

/** The public website: two pages. */
export const siteBundle: Bundle = {
  name: 'site',
  settings: siteSettings,
  register(app) {
    app.routes.group({ defaults: { _stateless: true } }, routes => {
      routes.add({
        name: 'star_photo_booth',
        path: '/star-photo-booth',
        methods: ['GET'],
        controller: createPage(app, 'star_photo_booth', 'site/star-photo-booth'),
      })
      routes.add({
        name: 'partnership',
        path: '/partnership',
        methods: ['GET'],
        controller: createPage(app, 'partnership', 'site/partnership'),
      })
    })
  },
}

function createPage({ view }: Application, name: string, template: string): Controller {
  return defineController(name, request => Response.html(view.render(template, {}, request)))
}
