import { t } from 'tap'
import { makeApplication } from '#tests/support/new-application.ts'
import { documented, execute, generate, others } from './generate.ts'

// `npm run proof` also runs the generated tests, here and in a copy of this repository.
t.test('what is generated in a new application compiles', async t => {
  const directory = makeApplication(t)
  const home = { name: 'home', register() {} }
  const { sources } = await generate(t, directory, home, [...documented, ...others])
  t.ok(sources.length > 10, 'sources are written')
  const types = await execute(t, directory, 'node_modules/typescript/bin/tsc')
  t.equal(types.code, 0, types.text)
})
