import { t } from 'tap'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

t.test('a refused request has the debug output of any other error', async t => {
  const { client } = await createProfiledKernel(t)
  const shape = async (method: string, target: string) => {
    const { headers, status } = await client.request(method, target)
    return {
      status,
      allow: headers.get('allow'),
      names: Array.from(headers, ([name]) => name)
        .filter(isOfDebug)
        .sort(),
    }
  }
  const { names } = await shape('GET', '/nope')
  t.ok(names.length > 5, `${names}`)
  const cases: [method: string, target: string, status: number, allow: string | null][] = [
    ['GET', '/%zz', 400, null],
    ['GET', '/a\\b', 400, null],
    ['GET', '/%00', 400, null],
    ['GET', '=partnership', 400, null],
    ['GET', `/${'a'.repeat(9000)}`, 414, null],
    ['PROPFIND', '/partnership', 501, null],
    ['POST', '/partnership', 405, 'GET'],
    // The methods of the path, and not those of the server.
    ['TRACE', '/partnership', 405, 'GET'],
    ['TRACE', '/multi', 405, 'GET, PUT, DELETE'],
    ['TRACE', '/post-only', 405, 'POST'],
    ['TRACE', '/noslash', 405, 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, QUERY'],
    ['TRACE', '/nope', 404, null],
    ['CONNECT', '/partnership', 405, 'GET'],
  ]
  const wrong: unknown[] = []
  for (const [method, target, status, allow] of cases) {
    const found = await shape(method, target)
    if (JSON.stringify(found) !== JSON.stringify({ status, allow, names }))
      wrong.push([method, target.slice(0, 20), found])
  }
  t.strictSame(wrong, [])
  t.hasStrict(await shape('TRACE', '/assets/site/icon.svg'), { status: 405, allow: 'GET, HEAD' })
  const { headers } = await client.request('TRACE', '/partnership')
  t.equal(
    decodeURIComponent(String(headers.get('x-debug-exception'))),
    'No route found for "TRACE http://localhost/partnership": Method Not Allowed (Allow: GET)',
  )
})

function isOfDebug(name: string): boolean {
  return /^x-(?:debug|previous|robots)|^server-timing/.test(name)
}
