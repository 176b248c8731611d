import { chmodSync, mkdirSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { until } from '#tests/support/until.ts'
import { SiteProcess } from './site-process.ts'

const program = `import { Response } from 'sinfonietta'
import { serve } from 'sinfonietta/server'

await serve({
  bundles: [
    {
      name: 'shop',
      register({ routes }) {
        routes.get('home', '/', () => Response.html('<body>Hello.</body>'))
        routes.post('login', '/login', async request => {
          await request.formData()
          await request.session.set('user', 1)
          return Response.text('Welcome.')
        })
      },
    },
  ],
})
`

/** Root may write everywhere, so that the server runs as a user without privileges. */
const unprivileged = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Starts an application in a folder that its user may only read, unless it is writable. */
async function start(t: Test, variables: NodeJS.ProcessEnv, isWritable = false) {
  const files = { 'package.json': '{"type":"module"}', 'app.js': program }
  const name = isWritable ? 'writable' : 'unwritable'
  const directory = path.join(realpathSync(t.testdirName), name)
  mkdirSync(path.join(directory, 'node_modules'), { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(directory, file), text)
  symlinkSync(path.resolve('.'), path.join(directory, 'node_modules/sinfonietta'))
  chmodSync(directory, isWritable ? 0o777 : 0o555)
  const env = { PATH: process.env.PATH, TMPDIR: isWritable ? path.dirname(directory) : '/nothing', ...variables }
  const command = [process.execPath, path.join(directory, 'app.js'), '--port=0']
  const site = new SiteProcess(t, command, { cwd: '/', env, ...(isWritable ? {} : unprivileged) })
  return { directory, site, url: await site.url() }
}

t.test('in production, a server that can store no session is not ready, and its log says why', async t => {
  t.testdir()
  const variables = {
    APP_ENV: 'prod',
    APP_HOSTS: '127.0.0.1',
    APP_SECRET: 'of one’s own, and long enough for production',
  }
  const { directory, site, url } = await start(t, variables)
  const health = await fetch(`${url}/_health`)
  t.strictSame([health.status, await health.json()], [503, { status: 'failing', failed: ['sessions'] }])
  await until(() => site.stdout.includes('"uploads\\"'))
  t.match(site.stdout, /The user \\"(?!root)[\w-]+\\" cannot write/)
  for (const folder of [`${directory}/var/sessions`, '/nothing']) {
    t.match(site.stdout, `cannot write to the folder ${folder} (E`)
  }
  // Otherwise only root can remove it.
  chmodSync(directory, 0o755)
})

t.test('in development, the log names each folder that requests would write to', async t => {
  t.testdir()
  const writable = await start(t, {}, true)
  const body = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\ncontent\r\n--b--\r\n'
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  t.equal((await fetch(`${writable.url}/login`, { method: 'POST', body, headers })).status, 200)
  // Without the file of a check, which exists for a moment.
  const list = () => readdirSync(path.join(writable.directory, 'var')).filter(name => !name.startsWith('.'))
  await until(() => list().includes('profiler') && list().includes('sessions'))
  const written = list()

  const { directory, site } = await start(t, {})
  const isNamed = (folder: string) => site.stdout.includes(`cannot write to the folder ${folder} (E`)
  const folders = ['/nothing', ...written.map(name => path.join(directory, 'var', name))]
  await until(() => folders.every(isNamed))
  t.pass('each is named')
  chmodSync(directory, 0o755)
})

t.test('the profiler of any program names the folder that it cannot write to', async t => {
  const directory = realpathSync(t.testdir({ node_modules: {}, 'app.mjs': 'setTimeout(() => {}, 60_000)' }))
  const modules = path.join(directory, 'node_modules')
  chmodSync(modules, 0o555)
  const command = [process.execPath, path.resolve('bin/sinfonietta'), 'profile', path.join(directory, 'app.mjs')]
  const env = { PATH: process.env.PATH, PROFILER_PORT: '0' }
  const site = new SiteProcess(t, command, { cwd: directory, env, ...unprivileged })
  await site.until(
    /Profiles cannot be stored\.\s+Error: The user "(?!root)[\w-]+" cannot write to the folder .*\/profiler \(EACCES/,
  )
  t.pass('it is named')
  chmodSync(modules, 0o755)
})
