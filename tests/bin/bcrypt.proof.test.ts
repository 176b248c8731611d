import { t } from 'tap'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

const source = `
import http from 'node:http'
import bcrypt from 'bcrypt'
const known = bcrypt.hashSync('hunter2000', 10)
const pages = {
  compare: () => bcrypt.compare('hunter2000', known),
  hash: async () => bcrypt.compareSync('hunter2000', await bcrypt.hash('hunter2000', 10)),
  callback: () => new Promise(resolve => bcrypt.compare('other', known, (_, isSame) => resolve(isSame))),
}
const server = http.createServer(async (message, reply) => reply.end(String(await pages[message.url.slice(1)]())))
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify([server.address().port])))
process.stdin.on('end', () => process.exit()).resume()
`

t.test('hashes and comparisons of bcrypt have their name and time', { skip: noRegistry }, async t => {
  const folder = t.testdir({ 'package.json': JSON.stringify({ dependencies: {} }) })
  const line = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', 'bcrypt@6']
  const { code, stderr } = await runProcess(t, line, { cwd: folder })
  t.equal(code, 0, stderr)
  const { stop, url, viewer } = await startProfiled(t, source, {}, folder)
  const answers: Record<string, unknown> = {}
  for (const page of ['compare', 'hash', 'callback']) {
    const answer = await (await fetch(`${url}/${page}`)).text()
    const { data } = await findProfile(viewer, `/${page}`)
    const calls = (data.time?.asyncCalls ?? []) as readonly { readonly name: string }[]
    answers[page] = [answer, ...calls.map(({ name }) => name)]
  }
  t.strictSame(answers, {
    compare: ['true', 'bcrypt.compare'],
    hash: ['true', 'bcrypt.hash'],
    callback: ['false', 'bcrypt.compare'],
  })
  await stop()
})
