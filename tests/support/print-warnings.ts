import { existsSync, readFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { parseEnv } from 'node:util'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { loadCommands } from '#bin/commands/console.ts'
import { Output } from '#lib/console/output.ts'
import { type Config, readConfig } from '#lib/env/config.ts'
import { Settings } from '#lib/env/settings.ts'
import { createFakeStream } from './fake-terminal.ts'

// Prints the warnings and failed pages of the application in the working directory, of which each page is asked for, in
// development and in production. Its argument is the compiled list of bundles.

const [, , index = ''] = process.argv
const { createBundles } = (await import(pathToFileURL(index).href)) as {
  readonly createBundles: (config: Config) => readonly Bundle[] | Promise<readonly Bundle[]>
}
const { DATABASE_URL } = process.env
const shared = {
  ...(existsSync('.env') && parseEnv(readFileSync('.env', 'utf8'))),
  ...(DATABASE_URL !== undefined && { DATABASE_URL, MAILER_URL: 'smtp://127.0.0.1:1' }),
  APP_SECRET: 'of one’s own, and long enough for production',
  APP_HOSTS: 'localhost',
}

for (const APP_ENV of ['dev', 'prod']) {
  const variables = { ...shared, APP_ENV }
  const listed = await createBundles(readConfig(new Settings({ variables })))
  const bundles = listed.some(({ name }) => name === 'framework') ? listed : [createFrameworkBundle(), ...listed]
  const { app, client, close, records } = await createTestKernel({ bundles, variables })
  const migrate = (await loadCommands(app.commands)).find(({ name }) => name === 'database:migrate')
  await migrate?.run(
    Object({ arguments: {}, options: {} }),
    new Output({ stdout: createFakeStream(), stderr: createFakeStream(), env: {} }),
  )
  await app.signals.emit('server.listening', { url: 'https://localhost', environment: APP_ENV, worker: 1 } as never)
  for (const { host, methods, name, path } of app.routes) {
    const isFixed = path.names.length === 0 && (host?.names.length ?? 0) === 0
    if (!isFixed || (methods.length > 0 && !methods.includes('GET'))) continue
    // Not all pages have an end.
    const response = await client.open(app.urls.generate(name))
    await response.close()
    if (response.status >= 500) process.stdout.write(`${APP_ENV}: ${name} answers ${response.status}\n`)
  }
  await close()
  const warnings = records.filter(({ level }) => level === 'warning')
  for (const message of new Set(warnings.map(each => each.message))) process.stdout.write(`${APP_ENV}: ${message}\n`)
}
