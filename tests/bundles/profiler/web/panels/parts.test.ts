import fc from 'fast-check'
import { t } from 'tap'
import { toBar } from '#bundles/profiler/panels/parts.ts'
import { toValueRow } from '#bundles/profiler/profile/format.ts'
import { splitMessage } from '#bundles/profiler/subjects/logs/lines.ts'
import { createShown } from '#tests/support/create-profile.ts'
import { shareKernel } from '#tests/support/profiled-kernel.ts'

const { panel } = await shareKernel()

t.test('a log message is split into its template and its values', async t => {
  const split = (message: string, template: string) =>
    splitMessage(message, template)
      .map(({ isValue, text }) => (isValue ? `<${text}>` : text))
      .join('')
  t.equal(split('User ada has 3 guests.', 'User {user} has {count} guests.'), 'User <ada> has <3> guests.')
  t.equal(split('ada', '{user}'), '<ada>')
  t.equal(split('ada3', '{user}{count}'), '<ada3>')
  t.equal(split('Who is {user}?', 'Who is {user}?'), 'Who is {user}?', 'an unfilled placeholder is not a value')
  t.equal(split('as it is', ''), 'as it is')
  t.equal(split('no placeholders', 'no placeholders'), 'no placeholders')
  for (const template of ['Other {user}', 'User {user} had', 'User {user} {count} {more}!', 'User']) {
    t.equal(split('User ada has 3…', template), 'User ada has 3…', template)
  }
})

t.test('no part of a log message is lost', async t => {
  const property = fc.property(fc.string(), fc.array(fc.string()), fc.string(), (start, values, joint) => {
    const template = start + values.map((_, index) => `{v${index}}${joint}`).join('')
    const message = start + values.map(value => value + joint).join('')
    for (const written of [message, message.slice(1)]) {
      const parts = splitMessage(written, template)
      if (parts.map(({ text }) => text).join('') !== written) return false
    }
    return true
  })
  t.doesNotThrow(() => fc.assert(property))
})

t.test('bars are within their picture, and visible', async t => {
  t.strictSame(toBar({ start: 15, duration: 5 }, { start: 10, duration: 20 }), { x: '250', width: '250' })
  t.strictSame(toBar({ start: 30, duration: 0 }, { start: 10, duration: 20 }), { x: '996', width: '4' })
  t.strictSame(toBar({ start: 0, duration: 99 }, { start: 10, duration: 20 }), { x: '0', width: '1000' })
  t.strictSame(toBar({ start: 5, duration: 5 }, { start: 5, duration: 0 }), { x: '0', width: '4' })
})

t.test('long values are folded', async t => {
  t.hasStrict(toValueRow({ name: 'a', value: 'short' }), { name: 'a', value: 'short', start: '' })
  t.match(toValueRow({ name: 'a', value: 'x'.repeat(1401) }), { start: /^x{120} …$/, size: '1,401 characters' })
  t.match(toValueRow({ name: 'a', value: '{\n  1\n}'.repeat(10) }), { start: /^\{ 1 \}\{ 1 / })
})

t.test('a call is copied as a command', async t => {
  const commandsOf = async (...calls: object[]) => {
    const { calls: rows } = await panel('http').toView(createShown({ http: { calls } }))
    return (rows as { command: string }[]).map(({ command }) => command)
  }
  const lacking = '# The headers and the body are not recorded.\n'
  t.strictSame(
    await commandsOf(
      { method: 'GET', url: 'http://a.test/?x=1&y=[2]' },
      { method: 'HEAD', url: 'http://a.test/' },
      { method: 'PURGE; rm', url: '-o' },
    ),
    [
      `${lacking}curl 'http://a.test/?x=1&y=[2]' \\\n  --globoff`,
      `${lacking}curl --head http://a.test/`,
      `${lacking}curl --request 'PURGE; rm' --url -o`,
    ],
  )
})

t.test('a repeated call is marked, except after a possible change', async t => {
  const call = (method: string, url: string) => ({ method, url, start: 1 })
  const calls = [call('GET', '/a'), call('POST', '/a'), call('GET', '/a'), call('POST', '/a'), call('GET', '/a')]
  const { calls: rows } = await panel('http').toView(createShown({ http: { calls } }))
  t.hasStrict(rows, [
    { twin: '' },
    { twin: '' },
    { twin: 'same as 1', twinIndex: 0 },
    { twin: '' },
    { twin: 'same as 1' },
  ])
})

t.test('a line has the beginning of a long address', async t => {
  const { calls } = await panel('http').toView(createShown({ http: { calls: [{ url: 'x'.repeat(500) }] } }))
  t.hasStrict(calls, [{ whole: 'x'.repeat(500), target: `${'x'.repeat(160)}…` }])
})
