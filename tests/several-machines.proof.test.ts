import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createSources } from '#bin/application/sources.ts'
import type { ProfileSummary } from '#bundles/profiler/profile/profile.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { type SiteProcess, startProgram } from './bin/site-process.ts'
import { createRedisStorage } from './bundles/profiler/store/redis-storage.ts'
import { createSmallApplication } from './support/create-small-application.ts'
import { findPort } from './support/find-port.ts'
import { lacksRedis, startRedis } from './support/start-redis.ts'
import { until } from './support/until.ts'

const lacksNginx = spawnSync('nginx', ['-v']).status === 0 ? false : 'there is no nginx on this machine'

const guide = readFileSync('docs/guides/several-machines.md', 'utf8')

const cartBundle = `import { type Application, type Bundle, Response } from 'sinfonietta'

export const homeBundle: Bundle = {
  name: 'home',
  register({ routes }: Application) {
    routes.get('home', '/', () => new Response('Hello.'))
    routes.post('add', '/add', async request => {
      const items = Number((await request.session.get('items')) ?? 0) + 1
      await request.session.set('items', items)
      return new Response(String(items), { headers: { 'x-machine': String(process.env.MACHINE) } })
    })
  },
}
`

interface Machine {
  readonly name: string
  readonly address: string
  readonly port: number
  readonly directory: string
  site: SiteProcess
}

/** Settings of all machines of a test. */
const common = {
  APP_SECRET: 'only for the time of a test, and long enough',
  DEBUG_KEY: 'a-key-for-the-time-of-a-test',
  TRUSTED_PROXIES: '127.0.0.1',
  TRUSTED_HEADERS: 'x-forwarded-for',
}

t.test(
  'two machines behind the nginx of the guide share sessions, also while they are restarted in turn',
  { skip: lacksRedis || lacksNginx },
  async t => {
    const redis = await startRedis(t)
    const { clients } = await restartInTurn(t, 'prod', { SESSION_URL: `redis://${redis.host}:${redis.port}` })
    t.strictSame(
      clients.flatMap(({ machines }) => [...machines.keys()]),
      [],
      'production has no profiler',
    )
  },
)

t.test(
  'two machines for testing have one list of profiles, also while they are restarted in turn',
  { skip: lacksRedis || lacksNginx },
  async t => {
    const redis = await startRedis(t)
    const url = `redis://${redis.host}:${redis.port}`
    const [, settings = ''] = /## Profiles of machines[\s\S]*?```ini\n([\s\S]*?)```/.exec(guide) ?? []
    const values: Record<string, string> = {
      APP_HOSTS: '127.0.0.1',
      DEBUG_ALLOWED_IPS: '127.0.0.1',
      PROFILER_URL: url,
      SESSION_URL: url,
    }
    const variables = { ...Object.fromEntries(readSettings(settings)), ...values, ...common }
    const { clients, nginx } = await restartInTurn(t, 'dev', variables)
    const { storage } = createRedisStorage(t, { url })
    const made = clients.flatMap(({ machines }) => [...machines])
    const isOfClient = ({ url }: ProfileSummary) => url.endsWith('/add')
    const read = async () => (await storage.search({ limit: 100_000 })).summaries.filter(isOfClient)
    await until(async () => (await read()).length >= made.length)
    const listed = (await read()).map(({ machine, token }) => [token, machine])
    const expected = made.map(([token, name]) => [token, areNamed ? name : hostname()])
    t.strictSame(listed.toSorted(), expected.toSorted(), 'each recorded request is listed once')
    const requests = clients.reduce((sum, { count }) => sum + count, 0)
    t.ok(made.length > 0 && made.length < requests / 2, `${made.length} of ${requests} requests are recorded`)
    const list = await fetch(`${nginx}/_profiler/`, { headers: { 'x-debug-key': common.DEBUG_KEY } })
    const [, choices = ''] = /<select name="machine">([\s\S]*?)<\/select>/.exec(await list.text()) ?? []
    const names = Array.from(choices.matchAll(/<option value="([^"]+)"/g), ([, name]) => name)
    t.strictSame(names, areNamed ? ['web-1', 'web-2'] : [])
  },
)

function readSettings(block: string): [name: string, value: string][] {
  return Array.from(block.matchAll(/^([A-Z_]+)=(.*)$/gm), ([, name = '', value = '']) => [name, value])
}

const restarts = Number(process.env.RESTARTS ?? 4)

/** Whether each machine may have a host name of its own. */
const areNamed = spawnSync('unshare', ['--uts', 'hostname', 'web-1']).status === 0

/**
 * Restarts two machines in turn, while clients change their sessions with each request: nothing is
 * lost, and nothing logged.
 */
async function restartInTurn(t: Test, environment: string, variables: Readonly<Record<string, string>>) {
  const directory = t.testdir({ one: {} })
  const one = path.join(directory, 'one')
  createSmallApplication(one)
  writeFileSync(path.join(one, 'bundles/home/home-bundle.ts'), cartBundle)
  t.equal(await createSources(one, false).build(), true)
  const other = path.join(directory, 'other')
  cpSync(one, other, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true })

  const sites: SiteProcess[] = []
  const start = ({ address, directory, name, port }: Omit<Machine, 'site'>) => {
    const serve = [process.execPath, path.join(directory, 'bin/serve')]
    const options = [`--host=${address}`, `--port=${port}`, `--env=${environment}`]
    const named = areNamed ? ['unshare', '--uts', 'sh', '-c', `hostname ${name} && exec "$@"`, 'sh'] : []
    const site = startProgram(t, [...named, ...serve, ...options], { ...common, ...variables, MACHINE: name })
    sites.push(site)
    return site
  }
  const machines: Machine[] = []
  for (const [index, directory] of [one, other].entries()) {
    const place = { name: `web-${index + 1}`, address: `127.0.0.${index + 2}`, port: await findPort(), directory }
    const site = start(place)
    await site.url()
    machines.push({ ...place, site })
  }
  const nginx = await startNginx(t, path.join(directory, 'nginx'), machines)

  const seen = new Set<string>()
  const clients = Array.from({ length: 8 }, () => new Client(nginx, seen))
  let isOver = false
  const load = clients.map(async client => {
    while (!isOver) await client.add()
  })
  for (let restart = 0; restart < restarts; restart++) {
    const machine = machines[restart % machines.length]
    if (machine === undefined) break
    machine.site.child.kill('SIGTERM')
    t.equal(await machine.site.end(), 0)
    machine.site = start(machine)
    await machine.site.url()
    // nginx uses it again when the two seconds of the guide are over.
    seen.clear()
    await until(() => seen.size === machines.length)
  }
  isOver = true
  await Promise.all(load)
  const logs = sites
    .flatMap(({ stdout }) => stdout.split('\n'))
    .filter(line => /"level":"(?:critical|error|warning)"|\b(?:CRITICAL|ERROR|WARNING)\b/i.test(line))
  t.strictSame(logs, [], 'the servers have logged no problem')
  const requests = clients.reduce((sum, { count }) => sum + count, 0)
  t.strictSame(
    clients.flatMap(({ complaints }) => complaints),
    [],
    'no request and no change of a session is lost',
  )
  t.comment(`${restarts} restarts, ${requests} requests of ${clients.length} clients`)
  return { clients, nginx }
}

/** A browser that puts items into its cart, one after the other. */
class Client {
  readonly complaints: string[] = []
  /** The machines of the requests that were recorded, by token. */
  readonly machines = new Map<string, string>()
  count = 0
  readonly #url: string
  readonly #seen: Set<string>
  #cookie = ''

  /** The machines that have answered are added to `seen`. */
  constructor(url: string, seen: Set<string>) {
    this.#url = url
    this.#seen = seen
  }

  async add(): Promise<void> {
    try {
      const headers = { cookie: this.#cookie, 'x-debug-key': common.DEBUG_KEY }
      const response = await fetch(`${this.#url}/add`, { method: 'POST', headers })
      const text = await response.text()
      const cookie = response.headers.get('set-cookie')
      if (cookie !== null) this.#cookie = cookie.split(';', 1).join()
      const machine = response.headers.get('x-machine') ?? ''
      const token = response.headers.get('x-debug-token')
      this.#seen.add(machine)
      if (token !== null) this.machines.set(token, machine)
      if (text === String(this.count + 1)) this.count++
      else this.complaints.push(`${response.status}: ${text}, not ${this.count + 1}`)
    } catch (error) {
      this.complaints.push(String(error))
    }
  }
}

/** Runs nginx as in the guides: with the machines of one, and the server of the other, without TLS. */
async function startNginx(t: Test, folder: string, machines: readonly Machine[]): Promise<string> {
  mkdirSync(folder)
  const port = await findPort()
  const [block = ''] = readNginx(guide)
  const [one = ''] = readNginx(readFileSync('docs/guides/deploy.md', 'utf8'))
  const upstream = machines.reduce(
    (text, { address, port }, index) => text.replace(`10.0.0.1${index + 1}:8000`, `${address}:${port}`),
    block,
  )
  t.notMatch(upstream, '10.0.0.1')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder};`)
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const [maps = ''] = /^[\s\S]*?(?=^upstream)/m.exec(one) ?? []
  const [location = ''] = /^ {4}location \/ \{[\s\S]*?^ {4}\}/m.exec(one) ?? []
  const server = `server { listen 127.0.0.1:${port}; ${location} }`
  const configuration = `${user} daemon off; pid nginx.pid; error_log stderr crit;
    events {} http { access_log off; ${temporary.join(' ')} ${maps} ${upstream} ${server} }`
  writeFileSync(path.join(folder, 'nginx.conf'), configuration)
  startProcess(t, ['nginx', '-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(url, { headers: { 'x-debug-key': common.DEBUG_KEY } }).then(
        ({ ok }) => ok,
        () => false,
      ),
    50,
  )
  return url
}

function readNginx(text: string): string[] {
  return Array.from(text.matchAll(/```nginx\n([\s\S]*?)```/g), ([, block = '']) => block)
}
