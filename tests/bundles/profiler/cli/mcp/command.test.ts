import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { t } from 'tap'
import { createStorage } from '#tests/support/create-profile.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'

const talkative: Bundle = {
  name: 'talkative',
  register({ logger }) {
    logger.error('Logged at the start.')
  },
}

function run(messages: readonly unknown[], init: RunInit = {}) {
  const storage = createStorage({ token: '00000a', status: 500 })
  return runInTerminal('mcp', {
    load: async () => [createFrameworkBundle(), talkative, createProfilerBundle({ storage })],
    answer: messages.map(message => `${typeof message === 'string' ? message : JSON.stringify(message)}\n`).join(''),
    ...init,
  })
}

const call = (id: number, name: string, given: object) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
})

t.test('all requests before the end of stdin are answered, and stdout contains only answers', async t => {
  const { code, stderr, stdout } = await run([
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    'no JSON',
    call(2, 'find_profiles', {}),
    call(3, 'read_profile', { token: 'ffffff' }),
  ])
  t.equal(code, 0)
  t.match(stderr, 'Logged at the start.')
  t.match(stderr, /^Waiting for a coding agent on stdin\.$/m)
  const answers = stdout
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  t.strictSame(answers.map(({ id }) => id).toSorted(), [1, 2, 3])
  const textOf = (id: number) => answers.find(answer => answer.id === id).result.content[0].text
  t.match(textOf(2), '- `00000a` 500')
  t.match(textOf(3), 'There is no profile "ffffff"')
})

t.test('Ctrl-C also ends the command', async t => {
  const { code, stdout } = await run([], { signal: AbortSignal.abort() })
  t.equal(code, 0)
  t.equal(stdout, '')
})

t.test('without the profiler the command does not exist', async t => {
  t.equal((await runInTerminal('mcp', { load: async () => [createFrameworkBundle()] })).code, 64)
})

t.test('the package is loaded at the first request: other imports are types only', async t => {
  const folder = 'bundles/profiler/cli/mcp'
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  t.ok(sources.length >= 2)
  for (const file of sources) {
    t.notMatch(
      readFileSync(path.join(folder, file), 'utf8'),
      /^import (?!type ).*(?:@modelcontextprotocol|'zod')/m,
      file,
    )
  }
})
