import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { t } from 'tap'
import { connectAgent } from '#tests/support/agent.ts'
import { until } from '#tests/support/until.ts'
import { copyProject, startApplication } from './site-process.ts'

/** A route of the site that fails, with a secret in its message. */
const failing = `
    app.routes.add({
      name: 'order',
      path: '/order/:id',
      controller: defineController('order', () => {
        throw new TypeError('The order was lost, password=hunter2')
      }),
    })
  },
}

function createPage(`

t.test('an agent reads the profiles of a running server on stdin and stdout', async t => {
  const directory = t.testdir()
  copyProject(directory)
  const bundle = path.join(directory, 'bundles/site/site-bundle.ts')
  writeFileSync(bundle, readFileSync(bundle, 'utf8').replace('  },\n}\n\nfunction createPage(', failing))
  writeFileSync(path.join(directory, '.env.local'), 'PROFILER_MCP=1\n')
  const site = startApplication(t, directory)
  const url = await site.url()
  t.equal((await fetch(`${url}/order/1?token=hunter2`)).status, 500)

  const command = path.join(directory, 'bin/console')
  const transport = new StdioClientTransport({ command, args: ['mcp'], stderr: 'ignore' })
  const { ask, client } = await connectAgent(t, transport)
  const strange: Error[] = []
  client.onerror = error => strange.push(error)
  t.ok((await client.listTools()).tools.length > 5)
  const { text: list } = await ask('find_profiles', { status: '500', limit: 1 })
  const [, token = ''] = /^- `([\da-f]{6})` 500 `GET \S+\/order\/1/m.exec(list) ?? []
  const { text } = await ask('read_panel', { token, panel: 'exception' })
  t.match(text, /Source of `bundles\/site\/site-bundle\.ts:\d+`:/)
  t.match(text, /^> +\d+ \| .*throw new TypeError/m)
  t.match(text, 'The order was lost, password=******')
  t.equal((await ask('last_exception')).texts[0], text)

  // The other process finds profiles that the server records later, too.
  await fetch(`${url}/order/2`)
  await until(async () => (await ask('last_exception')).text.includes('/order/2'))
  const all = await Promise.all(
    [{ token: 'latest' }, { token, format: 'json' }].map(async given => (await ask('read_profile', given)).text),
  )
  t.notMatch(list + text + all.join(), 'hunter2')
  t.strictSame(strange, [], 'stdout has messages only')

  const online = await connectAgent(t, new StreamableHTTPClientTransport(new URL(`${url}/_profiler/mcp`)))
  t.equal((await online.ask('read_panel', { token, panel: 'exception' })).text, text)
  t.notMatch((await online.ask('find_profiles')).text, '/_profiler')

  const { pid } = transport
  await client.close()
  t.throws(() => process.kill(Number(pid), 0), { code: 'ESRCH' }, 'the command has ended')
})
