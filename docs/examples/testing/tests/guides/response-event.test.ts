import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResponseEvent } from 'sinfonietta'
import { createRequest, createResponseEvent } from 'sinfonietta/testing'

class NewsListener {
  async onResponse({ isMainRequest, request, response }: ResponseEvent): Promise<void> {
    if (!isMainRequest) return
    const unread = await request.session.get('unread')
    response.headers.set('x-unread', String(unread ?? 0))
  }
}

test('kernel.response: a header has the number of unread messages, once', async () => {
  const request = createRequest('/', { session: { unread: 3 } })
  const page = createResponseEvent({ request })
  await new NewsListener().onResponse(page)
  assert.equal(page.response.headers.get('x-unread'), '3')

  const fragment = createResponseEvent({ request: request.duplicate() })
  await new NewsListener().onResponse(fragment)
  assert.equal(fragment.response.headers.has('x-unread'), false)
})
