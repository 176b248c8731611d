import path from 'node:path'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { t } from 'tap'
import { connectAgent } from '#tests/support/agent.ts'
import { copyProgram } from '#tests/support/copy-program.ts'
import { createWorkspace } from '#tests/support/program-workspace.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const application = `
import { createServer } from 'node:http'
let count = 0
const server = createServer((message, reply) => {
  console.error('request', ++count)
  reply.writeHead(count === 1 ? 500 : 200, { 'content-type': 'text/plain' }).end('answer ' + count)
})
server.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

t.test('a coding agent reads the profiles of any server, and replays its requests', async t => {
  const { cwd, stop, url, viewer } = await startProfiled(t, application)
  await fetch(`${url}/order?token=hunter2hunter2`)
  const { summary } = await findProfile(viewer, '/order?token=******')
  const connect = (env: Record<string, string>) => {
    const args = [copyProgram(cwd), 'mcp', cwd]
    const inherited = {
      PROFILER_ALONE: '1',
      PATH: String(process.env.PATH),
      NODE_V8_COVERAGE: process.env.NODE_V8_COVERAGE ?? '',
    }
    return new StdioClientTransport({
      command: process.execPath,
      args,
      env: { ...inherited, ...env },
      stderr: 'ignore',
    })
  }
  const reader = await connectAgent(t, connect({}))
  const names = (await reader.client.listTools()).tools.map(({ name }) => name)
  t.ok(names.includes('read_profile') && !names.includes('replay_request'), names.join())
  const { text } = await reader.ask('read_profile', { token: summary.token })
  t.match(text, /GET \/order[\s\S]*answer 1/)
  t.notMatch(text, /hunter2|bin\/console/)

  const { ask } = await connectAgent(t, connect({ PROFILER_MCP_REPLAY: '1' }))
  t.match((await ask('replay_request', { token: summary.token })).text, /500[\s\S]*200/)
  const list = await ask('find_profiles')
  t.equal(list.text.match(/GET http/g)?.length, 2, 'the running application has answered the replay')
  const wrong =
    'status must be a status such as 404, a part of one such as 40, a class such as 4xx, or a range such as 500..599, not "5..".'
  t.match(await ask('find_profiles', { status: '5..' }), { isError: true, text: wrong })
  await stop()
})

t.test('of several programs, a coding agent searches the one of its folder', async t => {
  const { root, start, temporary } = createWorkspace(t)
  const [shop, stock] = [await start('shop'), await start('stock')]
  await (await fetch(`${shop.url}/health`)).text()
  await findProfile(shop.viewer, '/health')
  await (await fetch(`${stock.url}/error`)).text()
  const { summary } = await findProfile(stock.viewer, '/error')
  const cwd = path.join(root, 'apps/shop')
  const { ask } = await connectAgent(
    t,
    new StdioClientTransport({
      command: process.execPath,
      args: [copyProgram(cwd), 'mcp', cwd],
      env: { PATH: String(process.env.PATH), TMPDIR: temporary },
      stderr: 'ignore',
    }),
  )
  t.match((await ask('read_profile', { token: 'latest' })).text, /GET \/health/)
  t.equal((await ask('find_profiles')).text.match(/GET http/g)?.length, 1)
  t.match((await ask('find_profiles', { program: 'stock' })).text, /\/error/)
  t.match((await ask('read_profile', { token: summary.token })).text, /GET \/error/)
  await Promise.all([shop.stop(), stock.stop()])
})

t.test('a mistake in the environment of the command for agents is one message', async t => {
  const cwd = t.testdir({ node_modules: {} })
  const env = { ...process.env, PROFILER_SAMPLE: 'wrong' }
  const { code, stderr, stdout } = await runProcess(t, [process.execPath, copyProgram(cwd), 'mcp'], { cwd, env })
  t.strictSame(
    { code, stdout, stderr },
    {
      code: 1,
      stdout: '',
      stderr: 'The configuration has mistakes:\n  PROFILER_SAMPLE "wrong" is not a number from 0 to 1.\n',
    },
  )
})
