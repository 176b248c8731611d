import { t } from 'tap'
import type { ResponseEvent } from '../../kernel/events/response-event.ts'
import { RequestType } from '../../kernel/request-type.ts'
import { createRequest, createResponseEvent } from '../../kernel/testing/event-factories.ts'

class NewsListener {
  async onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> {
    if (!isMainRequest) return
    const unread = await request.session.get('unread')
    response.headers.set('x-unread', String(unread ?? 0))
  }
}

t.test('kernel.response: the number of unread messages is told, once', async t => {
  const request = createRequest('/', { session: { unread: 3 } })
  const page = createResponseEvent({ request })
  await new NewsListener().onResponse(page)
  t.equal(page.response.headers.get('x-unread'), '3')

  const fragment = createResponseEvent({ request, type: RequestType.Sub })
  await new NewsListener().onResponse(fragment)
  t.notOk(fragment.response.headers.has('x-unread'))
})
