import t from 'tap'
import { maskSource } from '../../../lib/redact/mask-source.ts'

t.test('a literal that a name gives away as a secret is masked', async t => {
  for (const [source, masked] of Object.entries({
    "const apiKey = 'abc'": "const apiKey = '******'",
    'const password: string = "abc"': 'const password: string = "******"',
    'const password: string | undefined = `abc`,': 'const password: string | undefined = `******`,',
    "login({ user: 'bob', password: 'abc' })": "login({ user: 'bob', password: '******' })",
    "{'secret':'a\\'b', name: 'c'}": "{'secret':'******', name: 'c'}",
    "process.env.API_TOKEN ?? 'abc'": "process.env.API_TOKEN ?? '******'",
    "env['API_TOKEN'] || 'abc'": "env['API_TOKEN'] || '******'",
    "headers.set('x-api-key', 'abc')": "headers.set('x-api-key', '******')",
    "get('x-api-key') === 'abc'": "get('x-api-key') === '******'",
    "if (password !== 'abc') secret ??= 'abc'": "if (password !== '******') secret ??= '******'",
    "secret = 'abc\nnext = 1": "secret = '******\nnext = 1",
    "token = \"a' b\" + 'c'": 'token = "******" + \'c\'',
  })) {
    t.equal(maskSource(source), masked)
    t.equal(maskSource(masked), masked, 'again')
  }
})

t.test('other sources stay as they are', async t => {
  for (const source of [
    "const name = 'abc'",
    "secret = ''",
    "// don't tell: 'abc'",
    'const token = draw()',
    "keyboard = 'abc'",
    "set(apiKey, 'abc')",
  ]) {
    t.equal(maskSource(source), source)
  }
})

t.test('long lines take no time', async t => {
  for (const part of ['secret ', 'secret: ', "secret '", 'secret=', '"', "secret='\\", 'a'.repeat(50)]) {
    maskSource(part.repeat(100_000 / part.length))
    maskSource(`${part}${' '.repeat(100_000)}`)
  }
  t.pass()
})
