import { type Bundle, ControllerEvent, createFrameworkBundle, RequestEvent, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'

const warningsOf = (records: readonly { readonly level: string; readonly message: string }[]) =>
  records.filter(({ level }) => level === 'warning').map(({ message }) => message)

/** Pages with a role and with a menu; the guard reads the role. */
const pages: Bundle = {
  name: 'pages',
  register({ routes }) {
    routes.group({ defaults: { _role: 'admin', _log: true } }, group => {
      group.get('admin', '/admin', () => Response.text('admin'))
      group.get('failed', '/failed', () => Response.text('failed', { status: 404 }))
      group.get('users', '/users', () => Response.text('users'))
    })
    routes.add({
      name: 'menu',
      path: '/menu',
      defaults: { _menu: 'food', page: 1 },
      controller: (_request, { _menu }) => Response.text(_menu),
    })
  },
}

const guard: Bundle = {
  name: 'guard',
  register({ dispatcher }) {
    const read = ({ request }: RequestEvent) => void request.attributes.get('_role')
    dispatcher.on(RequestEvent, read, 20)
  },
}

const message =
  'Nothing has read the default "_role" of the route "admin": is the bundle with its listener in the list of bundles?'

async function warnings(t: Test, bundles: readonly Bundle[], variables: Readonly<Record<string, string>> = {}) {
  const all = [createFrameworkBundle(), pages, ...bundles]
  const kernels = [
    await createTestKernel({ bundles: all, variables }),
    await createProfiledTestKernel({ bundles: all, variables }),
  ]
  const [plain, profiled] = await Promise.all(
    kernels.map(async ({ client, close, records }) => {
      t.teardown(close)
      for (const path of ['/failed', '/menu', '/admin', '/admin', '/users']) await client.get(path)
      return warningsOf(records)
    }),
  )
  t.strictSame(profiled, plain, 'with the profiler, too')
  return plain
}

t.test('a default that nothing reads is logged once, when a request of its route succeeds', async t => {
  t.strictSame(await warnings(t, []), [message])
})

t.test('a default that a listener or a controller reads is not logged', async t => {
  t.strictSame(await warnings(t, [guard]), [])
  const asking: Bundle = {
    name: 'asking',
    register: ({ dispatcher }) =>
      void dispatcher.on(ControllerEvent, ({ request }) => void request.attributes.has('_role')),
  }
  t.strictSame(await warnings(t, [asking]), [])
})

t.test('a mistyped default is logged with the name that a listener reads', async t => {
  const mistyped: Bundle = {
    name: 'mistyped',
    register: ({ routes }) =>
      void routes.add({
        name: 'mistyped',
        path: '/menu',
        defaults: { _rol: 'admin' },
        controller: () => Response.text(''),
      }),
  }
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), mistyped, guard] })
  t.teardown(close)
  await client.get('/menu')
  t.strictSame(warningsOf(records), [
    'Nothing has read the default "_rol" of the route "mistyped"; the nearest is "_role": is the bundle with its listener in the list of bundles?',
  ])
})

t.test('in production nothing is logged', async t => {
  t.strictSame(await warnings(t, [], { APP_ENV: 'prod' }), [])
})
