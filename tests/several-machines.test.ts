import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { createSources } from '#bin/sources.ts'
import { type SiteProcess, startApplication } from './bin/site-process.ts'
import { createSmallApplication } from './support/create-small-application.ts'
import { findPort } from './support/find-port.ts'
import { lacksRedis, startRedis } from './support/start-redis.ts'
import { until } from './support/until.ts'

const lacksNginx = spawnSync('nginx', ['-v']).status === 0 ? false : 'there is no nginx on this machine'

const guide = readFileSync('docs/guides/several-machines.md', 'utf8')

t.test('the guide sets settings that exist', async t => {
  const reference = readFileSync('docs/reference/configuration.md', 'utf8')
  const blocks = [...guide.matchAll(/```(?:ini|yaml)\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  const names = blocks.flatMap(text => [...text.matchAll(/^ *([A-Z_]+)[=:]/gm)].map(([, name = '']) => name))
  t.ok(names.length > 12)
  t.strictSame(
    names.filter(name => !reference.includes(`| \`${name}\` |`)),
    [],
  )
})

/* c8 ignore start -- only where there are Redis and nginx */
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
  readonly address: string
  readonly port: number
  site: SiteProcess
}

t.test(
  'two machines behind the nginx of the guide share sessions, also while they are restarted in turn',
  {
    skip: lacksRedis || lacksNginx,
  },
  async t => {
    const redis = await startRedis(t)
    const url = `redis://${redis.host}:${redis.port}`
    const directory = t.testdir()
    createSmallApplication(directory)
    writeFileSync(path.join(directory, 'bundles/home/home-bundle.ts'), cartBundle)
    t.equal(await createSources(directory, false).build(), true)

    const start = (address: string, port: number) =>
      startApplication(t, directory, [`--host=${address}`, `--port=${port}`, '--env=prod'], {
        APP_SECRET: 'only for the time of a test, and long enough',
        SESSION_URL: url,
        MACHINE: address,
      })
    const machines: Machine[] = []
    const sites: SiteProcess[] = []
    for (const address of ['127.0.0.2', '127.0.0.3']) {
      const port = await findPort()
      const site = start(address, port)
      sites.push(site)
      await site.url()
      machines.push({ address, port, site })
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
      machine.site = start(machine.address, machine.port)
      sites.push(machine.site)
      await machine.site.url()
      // nginx uses it again when the two seconds of the guide are over.
      seen.clear()
      await until(() => seen.size === machines.length)
    }
    isOver = true
    await Promise.all(load)
    const logs = sites
      .flatMap(({ stdout }) => stdout.split('\n'))
      .filter(line => /"level":"(?:critical|error|warning)"/.test(line))
    t.strictSame(logs, [], 'the servers have logged no problem')
    const requests = clients.reduce((sum, { count }) => sum + count, 0)
    t.strictSame(
      clients.flatMap(({ complaints }) => complaints),
      [],
      'no request and no change of a session is lost',
    )
    t.comment(`${restarts} restarts, ${requests} requests of ${clients.length} clients`)
  },
)

const restarts = Number(process.env.RESTARTS ?? 4)

/** A browser that puts items into its cart, one after the other. */
class Client {
  readonly complaints: string[] = []
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
      const response = await fetch(`${this.#url}/add`, { method: 'POST', headers: { cookie: this.#cookie } })
      const text = await response.text()
      const cookie = response.headers.get('set-cookie')
      if (cookie !== null) this.#cookie = cookie.split(';', 1).join()
      this.#seen.add(response.headers.get('x-machine') ?? '')
      if (text === String(this.count + 1)) this.count++
      else this.complaints.push(`${response.status}: ${text}, not ${this.count + 1}`)
    } catch (error) {
      this.complaints.push(String(error))
    }
  }
}

/** Runs nginx with the machines of the guide, without TLS. */
async function startNginx(t: Test, folder: string, machines: readonly Machine[]): Promise<string> {
  mkdirSync(folder)
  const port = await findPort()
  const [, block = ''] = /```nginx\n([\s\S]*?)```/.exec(guide) ?? []
  const upstream = machines.reduce(
    (text, { address, port }, index) => text.replace(`10.0.0.1${index + 1}:8000`, `${address}:${port}`),
    block,
  )
  t.notMatch(upstream, '10.0.0.1')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(name => `${name}_temp_path ${folder};`)
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const server = `server { listen 127.0.0.1:${port}; location / { proxy_pass http://my-site; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_set_header Host $host; } }`
  const configuration = `${user} daemon off; pid nginx.pid; error_log stderr crit;
    events {} http { access_log off; ${temporary.join(' ')} ${upstream} ${server} }`
  writeFileSync(path.join(folder, 'nginx.conf'), configuration)
  const child = spawn('nginx', ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  await until(
    () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      ),
    50,
  )
  return url
}
/* c8 ignore stop */
