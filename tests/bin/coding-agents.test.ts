import { readFileSync } from 'node:fs'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { t } from 'tap'
import { connectAgent } from '#tests/support/agent.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { startSite } from './site-process.ts'

const guide = readFileSync('docs/guides/coding-agents.md', 'utf8')
const blocks = [...guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language, text]) => ({ language, text }))
const [stdio, http] = blocks
  .filter(({ language }) => language === 'json')
  .map(({ text = '' }) => JSON.parse(text).mcpServers.profiler)
const listed = [...guide.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => String(name))

t.test('every code block of the guide is tested here', async t => {
  t.strictSame(
    blocks.map(({ language }) => language),
    ['sh', 'json', 'json', 'sh'],
  )
})

t.test('an agent that is configured as in the guide has the tools of the guide, on stdin and stdout', async t => {
  const command = stdio.command.replace('/path/to/my-site', process.cwd())
  const { client } = await connectAgent(t, new StdioClientTransport({ command, args: stdio.args, stderr: 'ignore' }))
  const { tools } = await client.listTools()
  t.strictSame(tools.map(({ name }) => name).toSorted(), listed.toSorted())
})

t.test('an agent has the same tools over HTTP', async t => {
  const site = startSite(t, ['--port=0'], { APP_ENV: 'dev', PROFILER_MCP: '1' })
  const { port } = new URL(await site.url())
  const url = new URL(http.url)
  url.port = port
  const { client } = await connectAgent(t, new StreamableHTTPClientTransport(url))
  t.equal((await client.listTools()).tools.length, listed.length)
})

t.test('the command of the guide lists the tools and ends', async t => {
  const script = String(blocks.findLast(({ language }) => language === 'sh')?.text)
  const { stdout } = await runProcess(t, ['sh', '-c', script])
  const { tools } = JSON.parse(stdout).result as { tools: { name: string }[] }
  t.strictSame(tools.map(({ name }) => name).toSorted(), listed.toSorted())
})
