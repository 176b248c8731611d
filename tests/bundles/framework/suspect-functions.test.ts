import { type Application, type Bundle, createFrameworkBundle, queryValue, RequestEvent, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'
import { createProfiledTestKernel } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'

/** Values of the type `never` fit everywhere: the compiler refuses some of these functions. */
const loose = (value: unknown): never => value as never

class Counter {
  count = 0
  onRequest(): Response {
    return Response.text(String(this.count++))
  }
}

const route = (path: string, controller: unknown) => (app: Application) => app.routes.get('a', path, loose(controller))

const suspects: readonly (readonly [register: (app: Application) => unknown, message: string])[] = [
  [route('/a', (_req: unknown, res: unknown) => res), 'its controller takes (req, res): it gets (request, parameters)'],
  [route('/a', new Counter().onRequest), 'its controller is the method onRequest() without its object'],
  [
    route('/a/:slug', (_request: unknown, { slgu }: Record<string, string>) => Response.text(String(slgu))),
    'its controller takes the parameter "slgu", but its path is /a/:slug; the nearest is "slug"',
  ],
  [
    route('/a/:id', async (_request: unknown, { params }: Record<string, string>) => params),
    'its controller takes the parameter "params", but its path is /a/:id',
  ],
  [
    ({ routes }) =>
      routes.get(
        'a',
        '/a',
        { page: queryValue() },
        loose(({ pgae }: Record<string, string>) => pgae),
      ),
    'its controller takes the value "pgae", but its sources are page; the nearest is "page"',
  ],
  [
    ({ routes }) =>
      routes.get(
        'a',
        '/a',
        { page: queryValue() },
        loose(async (page: unknown) => page),
      ),
    'its controller gets its values as one object: write ({ page }), not (page)',
  ],
  [
    ({ dispatcher }) => dispatcher.on(RequestEvent, ({ request }) => void request.attributes.get('_route'), 100),
    'reads "_route" at the priority 100, before the router (32) sets it: use a lower one',
  ],
  [
    ({ dispatcher }) => dispatcher.on(RequestEvent, loose(new Counter().onRequest)),
    'The listener onRequest is the method onRequest() without its object, which its "this" needs: write value => object.onRequest(value)',
  ],
]

async function boot(register: (app: Application) => unknown, APP_ENV: string) {
  const shop: Bundle = { name: 'shop', register: app => void register(app) }
  const variables = { APP_ENV, APP_SECRET: 'a secret of thirty-two characters', APP_HOSTS: 'localhost' }
  const kernel = await createTestKernel({ bundles: [createFrameworkBundle(), shop], variables })
  return {
    ...kernel,
    warnings: kernel.records.filter(({ level }) => level === 'warning').map(({ message }) => message),
  }
}

t.test('the source of a function is a reason for a warning in development, and for no refusal', async t => {
  const offences: string[] = []
  for (const [register, message] of suspects) {
    for (const [environment, count] of [
      ['dev', 1],
      ['prod', 0],
    ] as const) {
      const { close, warnings } = await boot(register, environment)
      await close()
      const isNamed = count === 0 || warnings[0]?.includes(message)
      if (warnings.length !== count || !isNamed) offences.push(`${environment}: ${message}: ${warnings.join()}`)
    }
  }
  t.strictSame(offences, [])
})

t.test('the source of a listener is read also where the profiler traces it', async t => {
  const shop: Bundle = {
    name: 'shop',
    register: ({ dispatcher }) =>
      void dispatcher.on(RequestEvent, ({ request }) => void request.attributes.get('_route'), 100),
  }
  const { close, records } = await createProfiledTestKernel({ bundles: [createFrameworkBundle(), shop] })
  t.teardown(close)
  t.match(records.find(({ level }) => level === 'warning')?.message, /reads "_route" at the priority 100/)
})

t.test('two functions of the same meaning have the same answer', async t => {
  const destructured = (_request: unknown, { owner }: Record<string, string>) => Response.text(owner ?? 'all')
  const whole = (_request: unknown, parameters: Record<string, string>) => Response.text(parameters.owner ?? 'all')
  for (const controller of [destructured, whole]) {
    const { client, close } = await boot(route('/all', controller), 'prod')
    t.teardown(close)
    t.equal((await client.get('/all')).text, 'all')
  }
})

t.test('a function that is right has no warning', async t => {
  const counter = new Counter()
  const right = [
    () => counter.onRequest(),
    counter.onRequest.bind(counter),
    (_request: unknown, { id = '' }) => Response.text(id),
    (_request: unknown, { id, ...rest }: Record<string, string>) => Response.json([id, rest]),
    function (this: undefined) {
      return Response.text(String(this))
    },
  ]
  const offences: string[] = []
  for (const controller of right) {
    const { close, warnings } = await boot(route('/a', controller), 'dev')
    await close()
    if (warnings.length > 0) offences.push(`${controller}: ${warnings.join()}`)
  }
  t.strictSame(offences, [])
})
