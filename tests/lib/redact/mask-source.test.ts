import t from 'tap'
import { maskSource } from '#lib/redact/mask-text.ts'

t.test('passwords are masked, and values that look random under other secret names', async t => {
  for (const [source, masked] of Object.entries({
    "const apiKey = 'abc123'": "const apiKey = '******'",
    'const password: string = "abc123"': 'const password: string = "******"',
    'const password: string | undefined = `abc123`,': 'const password: string | undefined = `******`,',
    "login({ user: 'bob', password: 'abc123' })": "login({ user: 'bob', password: '******' })",
    "{'secret':'a1b2c3\\'d', name: 'c'}": "{'secret':'******', name: 'c'}",
    "process.env.API_TOKEN ?? 'abc123'": "process.env.API_TOKEN ?? '******'",
    "env['API_TOKEN'] || 'abc123'": "env['API_TOKEN'] || '******'",
    "headers.set('x-api-key', 'abc123')": "headers.set('x-api-key', '******')",
    "get('x-api-key') === 'abc123'": "get('x-api-key') === '******'",
    "if (password !== 'abc123') secret ??= 'abc123'": "if (password !== '******') secret ??= '******'",
    "secret = 'abc123\nnext = 1": "secret = '******\nnext = 1",
    "token = \"a1b2c3' b\" + 'c'": 'token = "******" + \'c\'',
    "pin = '123456', password = 'pa$$word'": "pin = '******', password = '******'",
    "const password = 'correct horse'": "const password = '******'",
    "throw new Error('lost, token=hunter2 of bob')": "throw new Error('lost, token=****** of bob')",
    "secret = 'aBcDeFgHiJkLmNoPqRsT'": "secret = '******'",
    "set('password', '/aB3dE5gH7')": "set('password', '******')",
    "set('password', '/correct horse')": "set('password', '******')",
    "password = '/reset-password'": "password = '******'",
  })) {
    t.equal(maskSource(source), masked)
    t.equal(maskSource(masked), masked, 'again')
  }
})

t.test('tokens of providers, and secrets of URLs, are masked in every literal', async t => {
  t.equal(maskSource(`send('xoxb-${'1'.repeat(12)}')`), "send('******')")
  t.equal(maskSource("connect('postgres://me:hunter@db/x')"), "connect('postgres://******@db/x')")
  t.equal(maskSource("get('/?page=1&token=hunter')"), "get('/?page=1&token=******')")
})

t.test('other sources stay as they are', async t => {
  for (const source of [
    "const name = 'abc'",
    "secret = ''",
    "// don't say: 'abc'",
    'const token = draw()',
    "keyboard = 'abc'",
    "set(apiKey, 'abc')",
    "page('api_products', '/api/products', showProducts)",
    "page('api_products', '/api/v2/products2', showProducts)",
    "page('reset_password', '/users/{id}/reset-password', reset).add('api_key', '/keys/:key.json')",
    "const token = 'correct horse'",
    'const password=input, x=a?token:b',
    "tokenField: 'access_token', sessionName: 'sid'",
    "createHash('sha256'), key: 'HS256', crypt = 'aes-256-gcm'",
    "const passwordPattern = 'Enter 8 characters'",
    `token = \`\${prefix}-1234\``,
    `get('/?token=\${token}')`,
    'const token: string = draw(12345678)',
  ]) {
    t.equal(maskSource(source), source)
  }
})
