import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Bundle, createFrameworkBundle, Response } from 'sinfonietta'
import { createTestKernel, runCommand } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { makeApplication } from '#tests/support/new-application.ts'
import { execute } from '../maker/generate.ts'

const answer = () => Response.text('here')

const shop: Bundle = {
  name: 'shop',
  register({ routes }) {
    routes.get('home', '/', answer)
    routes.get('item', '/items/:id', answer)
    routes.add({
      name: 'list',
      path: '/list{/:page}',
      defaults: { page: 1 },
      aliases: ['old "list"'],
      controller: answer,
    })
    routes.group({ prefix: '{/:_locale}', host: ':shop.example.org' }, group => void group.get('help', '/help', answer))
  },
}

async function write(t: Test, directory: string) {
  const { app, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), shop], directory })
  t.teardown(close)
  const { writeRouteTypes } = await import('#bundles/framework/route-types.ts')
  await writeRouteTypes(app)
  return records
}

t.test('the compiler knows the names of routes, and what their URLs need', async t => {
  const directory = makeApplication(t)
  await write(t, directory)
  const file = path.join(directory, 'var/routes.d.ts')
  const { mtimeMs } = statSync(file)
  await write(t, directory)
  t.equal(statSync(file).mtimeMs, mtimeMs, 'it is written only when routes have changed')
  writeFileSync(
    path.join(directory, 'bundles/links.ts'),
    `import type { Request, UrlGenerator } from 'sinfonietta'

export function links(urls: UrlGenerator, request: Request): unknown[] {
  return [
    urls.generate('home'),
    urls.generate('home', { sort: 'age' }, { absolute: true }),
    urls.generate('item', { id: 7, sort: 'age' }),
    urls.generate('list'),
    urls.generate('old "list"', { page: 2 }),
    urls.generate('help', { shop: 'tea' }, { request }),
    request.redirectTo('item', { id: 7 }),
    request.redirectBack('home'),
    // @ts-expect-error an unknown route
    urls.generate('itme', { id: 7 }),
    // @ts-expect-error no parameters
    urls.generate('item'),
    // @ts-expect-error no id
    urls.generate('item', { slug: 'a' }),
    // @ts-expect-error no value of a URL
    urls.generate('list', { page: [1] }),
    // @ts-expect-error no host
    request.redirectTo('help', { _locale: 'de' }),
    // @ts-expect-error an unknown route
    request.redirectBack('hmoe'),
  ]
}
`,
  )
  const types = await execute(t, directory, 'node_modules/typescript/bin/tsc')
  t.equal(types.text, '')
  t.equal(types.code, 0)
})

t.test('a folder that cannot be written is a warning, and a program without TypeScript gets no file', async t => {
  const directory = t.testdir({ 'tsconfig.json': '{}', var: { 'routes.d.ts': {} } })
  const records = await write(t, directory)
  t.match(
    records.filter(({ level }) => level === 'warning'),
    [{ message: /types of the routes/ }],
  )
  const plain = t.testdir({})
  await write(t, plain)
  t.throws(() => readFileSync(path.join(plain, 'var/routes.d.ts')), { code: 'ENOENT' })
})

t.test('in development, debug:routes writes them without a server', async t => {
  for (const [APP_ENV, isWritten] of [
    ['dev', true],
    ['test', false],
  ] as const) {
    const directory = makeApplication(t)
    const bundles = [createFrameworkBundle(), shop]
    const { app, close } = await createTestKernel({ bundles, directory, variables: { APP_ENV } })
    t.teardown(close)
    t.equal((await runCommand(app, 'debug:routes')).code, 0)
    t.equal(existsSync(path.join(directory, 'var/routes.d.ts')), isWritten, APP_ENV)
  }
})
