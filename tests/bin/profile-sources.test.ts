import { t } from 'tap'
import { encodeMappings, inlineMap } from '#tests/support/source-map.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'

/** An application as a bundler writes it: the functions `ask` and `write` are those of a library. */
const code = `
import express from 'express'
const ask = url => fetch(url)
const write = text => console.log(text)
async function load(port) { await (await ask('http://127.0.0.1:' + port + '/other')).text() }
const app = express()
app.get('/other', (request, response) => response.end())
app.get('/page', async function showPage(request, response) {
  await load(server.address().port)
  write('a message')
  throw new RangeError('The page is broken.')
})
app.use((error, request, response, next) => response.status(500).send(error.stack))
const server = app.listen(0, '127.0.0.1', () => process.stdout.write('[' + server.address().port + ']\\n'))
process.stdin.on('end', () => process.exit()).resume()
`

for (const option of ['', '--enable-source-maps']) {
  t.test(`places are in the sources, and never in a library of a bundle: ${option}`, async t => {
    const lines = code
      .split('\n')
      .map((text, line) => [/^const (?:ask|write)/.test(text) ? [0, 1, line, 0] : [0, 0, line + 99, 0]])
    const map = {
      version: 3,
      sources: ['webpack://shop/./src/shop.ts', 'node_modules/library/index.js'],
      mappings: encodeMappings(lines),
    }
    const shop = `${'\n'.repeat(109)}throw new RangeError('The page is broken.')\n`
    const cwd = t.testdir({
      'package.json': '{ "dependencies": { "express": "*" } }',
      src: { 'shop.ts': shop },
      node_modules: {},
    })
    const { stop, url, viewer } = await startProfiled(t, code + inlineMap(map), { NODE_OPTIONS: option }, cwd)
    const answer = await (await fetch(`${url}/page`)).text()
    t.match(
      answer,
      option === '' ? /showPage .*app\.mjs:11:9/ : /showPage .*webpack:\/\/shop\/src\/shop\.ts:110:1/,
      'the stack of the application is not changed',
    )
    const { data } = await findProfile(viewer, '/page')
    const file = 'src/shop.ts'
    t.match(data.http, {
      calls: [{ caller: { function: 'load', file, line: 104, callers: [{ function: 'showPage', line: 108 }] } }],
    })
    t.match(data.console, { entries: [{ site: { file, line: 109 } }] })
    t.match(data.exception, {
      exceptions: [{ frames: [{ call: 'showPage', file, line: 110, origin: 'application' }] }],
      excerpts: [{ file, line: 110 }],
    })
    const places = JSON.stringify(data.events)
    t.match(places, `${file}:107`, 'the place where a function was registered')
    await stop()
  })
}
