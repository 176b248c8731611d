import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { measureJsonDepth, parseJson } from '#lib/body/parse-json.ts'

t.test('the scanner finds the depth that a walk over the value finds', async t => {
  const property = fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: 'binary' }), fc.nat(2), (value, space) => {
    assert.equal(measureJsonDepth(JSON.stringify(value, null, space)), walk(value))
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 1000 }))
})

t.test('brackets inside of strings do not count, whatever is escaped around them', async t => {
  t.equal(measureJsonDepth('{"a\\"[[":"\\\\","b":["]\\\\\\""]}'), 2)
})

t.test('any JSON within the depth is parsed as JSON.parse does, unless its keys change prototypes', async t => {
  const property = fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), value => {
    const text = JSON.stringify(value)
    fc.pre(!text.includes('__proto__'))
    assert.deepStrictEqual(parseJson(text, 64), JSON.parse(text))
  })
  t.doesNotThrow(() => fc.assert(property))
  t.equal(parseJson('"\\u00e9 __proto__"', 64), 'é __proto__')
})

t.test('JSON is refused if it is deeper than the limit, and only then, whatever its strings contain', async t => {
  const stringUnit = fc.constantFrom('[', '{', ']', '}', '"', '\\', 'a')
  const property = fc.property(fc.jsonValue({ maxDepth: 6, stringUnit }), fc.nat(6), (value, limit) => {
    const text = JSON.stringify(value)
    if (walk(value) <= limit) assert.deepStrictEqual(parseJson(text, limit), JSON.parse(text))
    else assert.throws(() => parseJson(text, limit), { code: 'BODY_JSON_INVALID', message: /nested deeper/ })
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 1000 }))
})

t.test('64 levels are accepted and 65 are not, closed or not', async t => {
  t.doesNotThrow(() => parseJson('['.repeat(64) + ']'.repeat(64), 64))
  const refused = { code: 'BODY_JSON_INVALID', status: 400, message: /nested deeper than 64 levels/ }
  t.throws(() => parseJson(`${'['.repeat(65)}${']'.repeat(65)}`, 64), refused)
  t.throws(() => parseJson('{"a":'.repeat(100_000), 64), refused)
})

t.test('keys that change prototypes are refused, escaped or not, at any level', async t => {
  for (const text of [
    '{"__proto__":{"polluted":1}}',
    '{"\\u005f_proto__":null}',
    '[{"a":{"__pr\\u006fto__":1}}]',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"c\\u006fnstructor":{"prototype":1}}',
  ]) {
    t.throws(() => parseJson(text, 64), { code: 'BODY_JSON_INVALID', message: /the key "\w+" is not accepted/ }, text)
  }
  const harmless = '{"constructor":{"a":1},"b":{"constructor":null}}'
  t.equal(JSON.stringify(parseJson(harmless, 64)), harmless)
  t.equal(Reflect.get({}, 'polluted'), undefined)
})

t.test('the reason says what is wrong without quoting the body', async t => {
  const reasonFor = (text: string) => {
    try {
      return void parseJson(text, 64)
    } catch (error) {
      t.equal((error as Error).cause, undefined, 'the parser quotes the body in its own error')
      return /JSON: (.*)\.$/.exec((error as Error).message)?.[1]
    }
  }
  t.equal(reasonFor(''), 'it is empty')
  t.equal(reasonFor('{"password":hunter2}'), "Unexpected token 'h'")
  t.equal(reasonFor('{"password":"hunter2"'), "Expected ',' or '}' after property value in JSON at position 21")
  t.equal(reasonFor('["hunter2"'), "Expected ',' or ']' after array element in JSON at position 10")
  t.equal(reasonFor('["hunter2",'), 'Unexpected end of JSON input')
  t.equal(reasonFor('[object Object]'), 'its syntax is wrong')
  t.equal(reasonFor('{}{}'), 'Unexpected non-whitespace character after JSON at position 2')
})

function walk(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(walk))
}
