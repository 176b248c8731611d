import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import path from 'node:path'
import { t } from 'tap'
import { findPort } from '#tests/support/find-port.ts'
import { packPackage } from '#tests/support/pack.ts'
import { createTarball } from '#tests/support/tarball.ts'
import { interrupt, noNpm, Workplace } from '#tests/support/workplace.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

/** The lines that the README gives for a new application, without comments. */
const lines = readCommands('## An application')

/** A secret for production. */
const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

t.test('an application, from the tarball to production', { skip: noNpm }, async t => {
  const place = await Workplace.create(t)
  const { file } = await packPackage(t, place.directory)
  const site = 'my-site'
  const create = `npx --yes ./${file} new ${site}`
  t.strictSame(
    lines,
    ['npm ci', 'npm pack', create, `cd ${site}`, 'npm install', 'npm start'],
    'the README has the lines that are run below',
  )
  const begin = performance.now()
  const report = (what: string) => t.comment(`${what}: ${((performance.now() - begin) / 1_000).toFixed(1)} s`)

  /** Runs a line in the application, which must succeed. */
  const succeed = async (line: string, folder = site) => {
    const { code, output } = await place.run(line, folder)
    t.equal(code, 0, line, { output })
    report(line)
    return output
  }

  const created = await succeed(create, '.')
  t.match(created, `cd ${site}\n  npm install\n  npm start\n`, 'the next commands are printed')
  const written = place.filesOf(site)
  t.ok(written.size <= 12, 'it has at most twelve files', { files: [...written.keys()] })
  await succeed('npm install')
  t.match(await succeed('npm test'), passed(2), 'its tests pass')

  const port = await findPort()
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(url + path, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', ...init?.headers },
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  }

  await t.test('npm start serves it in development', async t => {
    const server = place.start(t, `npm start -- --port=${port}`, site)
    t.equal(await server.url(), url)
    const home = await ask('/')
    t.equal(home.status, 200)
    t.match(home.text, `<title>${site}</title>`)
    t.match(home.text, '/_wdt/', 'the toolbar is on it')

    const missing = await ask('/no/such/page')
    t.equal(missing.status, 404)
    t.match(missing.text, '/no/such/page')

    const list = await ask('/_profiler/', { redirect: 'follow' })
    t.equal(list.status, 200)
    t.match(list.text, '/no/such/page')
    const token = String(home.headers.get('x-debug-token'))
    const profile = await ask(`/_profiler/${token}`)
    t.equal(profile.status, 200)
    t.match(profile.text, 'home')

    t.match(await succeed('bin/console make:page about --bundle home'), 'templates/home/about.hbs')
    await server.url()
    t.equal((await ask('/about')).status, 200, 'a generated page is served after a restart')

    place.write(
      `${site}/bundles/home/home-bundle.ts`,
      withBrokenPage(place.read(`${site}/bundles/home/home-bundle.ts`)),
    )
    await server.url()
    const broken = await ask('/broken')
    t.equal(broken.status, 500)
    t.match(broken.text, 'The shelf is empty.')
    t.match(broken.text, 'bundles/home/home-bundle.ts', 'the frame of the application is named')
    interrupt(server, 'SIGINT')
    await server.end()
    await t.rejects(ask('/'), 'Ctrl-C ends the server')
  })

  await t.test('its console knows what happened', async t => {
    t.match(await succeed('bin/console debug:routes'), /home .*\/about/s)
    const recorded = await succeed('bin/console profiler:list')
    for (const path of ['/about', '/broken', '/no/such/page']) t.match(recorded, path)
    t.match(await succeed('bin/console debug:config'), 'APP_SECRET')
    t.match(await succeed('bin/console --version'), version)
  })

  await t.test('it uses a library of others', async t => {
    const manifest = {
      name: 'left-hand',
      version: '1.0.0',
      type: 'module',
      exports: './index.js',
      types: './index.d.ts',
    }
    const files = {
      'package.json': JSON.stringify(manifest),
      'index.js': "export const greet = name => 'Good day, ' + name\n",
      'index.d.ts': 'export function greet(name: string): string\n',
    }
    const entries = Object.entries(files).map(([path, text]) => ({
      path,
      content: Buffer.from(text),
      isExecutable: false,
    }))
    place.write('left-hand-1.0.0.tgz', createTarball(entries))
    await succeed('npm install ../left-hand-1.0.0.tgz')
    const check = (value: string) =>
      place.write(
        `${site}/tests/greet.test.ts`,
        `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { greet } from 'left-hand'

test('it greets', () => assert.equal(greet(${value}), 'Good day, Ada'))
`,
      )
    check('1')
    const { code, output } = await place.run('npm test', site)
    t.not(code, 0)
    t.match(output, /greet\.test\.ts\(5,.*error TS2345/)
    t.notMatch(output, 'welcomes', 'the types are checked before the tests')
    check("'Ada'")
    t.match(await succeed('npm test'), passed(4), 'with the test of the generated page')
  })

  await t.test('in production there is no profiler', async t => {
    const refused = await place.run(`node bin/serve --env prod --port=${port}`, site)
    t.not(refused.code, 0, 'the secret of development is refused')
    t.match(refused.output, 'APP_SECRET')

    const variables = { ...ownSecret, APP_HOSTS: '127.0.0.1' }
    const server = place.start(t, `exec node bin/serve --env prod --port=${port}`, site, variables)
    await server.url()
    const home = await ask('/')
    t.equal(home.status, 200)
    t.notMatch(home.text, '_wdt')
    t.equal(home.headers.get('x-debug-token'), null)
    t.equal((await ask('/_profiler/')).status, 404)
    const broken = await ask('/broken')
    t.equal(broken.status, 500)
    t.notMatch(broken.text, 'The shelf is empty.')
    interrupt(server, 'SIGTERM')
    t.equal(await server.end(), 0)
    // Earlier versions of Node cannot keep compiled code.
    const keepsCode = 'flushCompileCache' in module
    t.equal(existsSync(path.join(place.directory, site, 'var/cache')), keepsCode, 'compiled code is kept')
  })

  await t.test('it upgrades to the next version', async t => {
    const next = '0.3.1'
    const before = place.filesOf(site)
    await succeed(
      `tar -xzf ${file} && cd package && npm version --no-git-tag-version ${next} && npm pack --ignore-scripts --pack-destination ..`,
      '.',
    )
    await succeed(`npm install ../sinfonietta-${next}.tgz`)
    t.equal((await succeed('bin/console --version')).trim(), next)
    t.match(await succeed('npm test'), passed(4))
    const after = place.filesOf(site)
    const isOurs = (name: string) => !/^package(?:-lock)?\.json$/.test(name)
    const changed = [...after].filter(([name, text]) => isOurs(name) && before.get(name) !== text).map(([name]) => name)
    t.strictSame(changed, [], 'no file of the application has changed')
    t.strictSame([...after.keys()], [...before.keys()])
  })

  t.strictSame(
    place.registry.missing.filter(name => name.includes('sinfonietta')),
    [],
    'the package is never asked for at the registry',
  )
})

/** The totals of Node's test runner, in any of its formats. */
function passed(count: number): RegExp {
  return new RegExp(`^\\S tests ${count}\\n[\\s\\S]*^\\S pass ${count}$`, 'm')
}

/** Reads the first block of commands below a heading of the README. */
function readCommands(heading: string): string[] {
  const [, section = ''] = readFileSync('README.md', 'utf8').split(`\n${heading}\n`)
  const [, block = ''] = /^```sh\n(.*?)^```/ms.exec(section) ?? []
  return block
    .trim()
    .split('\n')
    .map(line => line.replace(/\s+#.*/, ''))
}

/** Adds a route that throws to the source of the home bundle. */
function withBrokenPage(source: string): string {
  const route = `app.routes.get('broken', '/broken', () => {
      throw new Error('The shelf is empty.')
    })
    `
  return source.replace('app.routes.get(', `${route}app.routes.get(`)
}
