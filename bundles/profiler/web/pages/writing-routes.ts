import { currentRequest, defineController, routeParameter } from '../../../../kernel/controller.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import { home, listLink, recordLink } from '../../profile/links.ts'
import { type PageRoute, type PageServices, protect } from './page-services.ts'

/** Creates what changes something: purge, pause and resume, pin and unpin, replay. Each leads back to a page, with 303. */
export function createWritingRoutes(services: PageServices, replayer: Replayer): PageRoute[] {
  const { policy, storage } = services
  const act = (name: string, change: () => void | Promise<void>): PageRoute => ({
    name: `_profiler_${name}`,
    path: `${home}${name}`,
    controller: defineController(`profiler_${name}`, [], async () => {
      await change()
      return goTo(home)
    }),
  })
  const pin = (name: string, isPinned: boolean): PageRoute => ({
    name: `_profiler_${name}`,
    path: `${home}:record/${name}`,
    controller: defineController(
      `profiler_${name}`,
      [currentRequest, routeParameter('record')],
      async (request, token) => {
        if (!(await storage.pin(token, isPinned))) {
          const { renderMissing } = await import('./missing-page.ts')
          return renderMissing(token, request, services)
        }
        const list = request.query.get('list')
        if (list !== null) return goTo(listLink(Object.fromEntries(new URLSearchParams(list))))
        return goTo(recordLink(token, request.query.get('panel') || undefined))
      },
    ),
  })
  return [
    act('purge', () => storage.purge()),
    act('pause', () => {
      policy.isPaused = true
    }),
    act('resume', () => {
      policy.isPaused = false
    }),
    pin('pin', true),
    pin('unpin', false),
    {
      name: '_profiler_replay',
      path: `${home}:record/replay`,
      controller: defineController(
        'profiler_replay',
        [routeParameter('record'), currentRequest],
        async (token, request) => {
          const { replay } = await import('./replay-page.ts')
          const answer = await replay(token, request, { ...services, replayer })
          return typeof answer === 'string' ? goTo(answer) : answer
        },
      ),
    },
  ]
}

/** 303: what the form was sent to is not asked for again when the page is reloaded. */
function goTo(location: string): Response {
  return protect(Response.redirect(location, 303))
}
