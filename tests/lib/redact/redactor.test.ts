import fc from 'fast-check'
import t from 'tap'
import { Redactor } from '#lib/redact/redactor.ts'
import { findWords } from '#lib/redact/secret-forms.ts'
import { isSecretName } from '#lib/redact/secret-names.ts'
import { anyCharacter } from '#tests/support/sample.ts'

const redactor = new Redactor()
const canary = 'canary-9f3b'

const denied =
  'api auth token key secret pass signature http_cookie passw email _key crypt salt certificate otp ssn cvv cvc password credentials vcap_services authorization php-auth-pw password_confirmation cookie set-cookie proxy-authorization pwd dsn session sid jwt bearer credential private cert csrf xsrf nonce pin'.split(
    ' ',
  )

t.test('every name of the deny-list is secret, however it is written', async t => {
  for (const name of denied) {
    const camel = name.replace(/[-_](.)/g, (_, letter: string) => letter.toUpperCase())
    const variants = [
      name,
      name.toUpperCase(),
      `x_${name}`,
      `${name}_x`,
      `x-${name}`,
      `${name}1`,
      `user[${name}]`,
      camel,
    ]
    for (const variant of variants) t.ok(isSecretName(variant), variant)
  }
  for (const name of [
    'apiKey',
    'APIKey',
    'userSSN',
    'myPinCode',
    'PHPSESSID',
    'connect.sid',
    'RECAPTCHA3_KEY',
    'keyID',
    'eMail',
  ]) {
    t.ok(isSecretName(name), name)
  }
})

t.test('names that other lists miss are secret', async t => {
  const names =
    'pw x-pw dbPw PGUSERPW SAMLResponse SAMLRequest assertion client_assertion hmac x-hmac x-shopify-hmac-sha256 mfa 2fa totp seed ' +
    'mnemonic card_number cardNumber ccnum cc-number iban x-pat GH_PAT personalPat dpop ticket x-ticket user[ticket] x-amzn-oidc-data ' +
    'passwort kennwort contraseña contrasena mot_de_passe motDePasse mdp wachtwoord senha heslo hasło пароль 密码 パスワード 비밀번호 ' +
    'SLACK_WEBHOOK webhook_url ID_RSA id_ed25519 KUBECONFIG_DATA recovery_code backupCodes security_answer connectionString'
  for (const name of names.split(' ')) t.ok(isSecretName(name), name)
})

t.test('each secret name has a word by which it is found in texts', async () => {
  const parts = `${denied.join(' ')} kennwort contraseña mot_de_passe пароль 密码 saml_request card_num cc_num id_rsa kube_config_data security_code
    one_time_code code_verifier security_answer mfa 2fa totp webhook webhookUrl webhook_uri ticket GH_PAT clave e_mail eMail DPoP recovery code`
  const name = fc
    .tuple(
      fc.constantFrom('', 'x', 'user', 'X-', 'my_'),
      fc.constantFrom(...parts.split(/\s+/)),
      fc.constantFrom('', '1', 'Id', '_x', 'x', ']'),
      fc.constantFrom('_', '-', '', 'hump', ' '),
      fc.constantFrom<(text: string) => string>(
        text => text,
        text => text.toUpperCase(),
        text => text.charAt(0).toUpperCase() + text.slice(1),
      ),
    )
    .map(([before, part, after, mark, write]) => {
      const marked = part.replace(/[-_](.)/g, (_, letter: string) =>
        mark === 'hump' ? letter.toUpperCase() : mark + letter,
      )
      return before + write(marked) + after
    })
  fc.assert(
    fc.property(name, name => !isSecretName(name) || findWords(name) % 2 === 1),
    { numRuns: 3000 },
  )
})

t.test('ordinary names and the identifiers of the profiler are not secret', async t => {
  const ordinary =
    'author authority className keyboard keywords passenger capital description inside shipping announcement certain host user-agent accept etag ' +
    'path patch pattern patient dispatch compat seedling urban tickets ticket_id webhook_events hash code state challenge kubeconfig ' +
    'enclave autoclave cardboard opinion designer'
  for (const name of ordinary.split(/ +/)) t.notOk(isSecretName(name), name)
  for (const name of ['X-Debug-Token', 'x-debug-token-link', 'X-Previous-Debug-Token', '_stopwatch_token']) {
    t.notOk(isSecretName(name), name)
  }
})

t.test('a key of the deny-list is masked at any depth', async t => {
  const path = fc.array(fc.constantFrom('a', 'list', 'user'), { maxLength: 8 })
  fc.assert(
    fc.property(fc.constantFrom(...denied), path, (key, path) => {
      const inner: unknown = { [key]: canary, [`x_${key}`]: [canary], plain: 'kept' }
      const value = path.reduceRight((held, name) => (name === 'list' ? [held] : { [name]: held }), inner)
      const masked = JSON.stringify(redactor.value('data', value))
      return !masked.includes(canary) && masked.includes('******') && masked.includes('kept')
    }),
  )
  t.pass()
})

t.test('value masks by name and keeps the rest', async t => {
  t.equal(redactor.value('password', 'x'), '******')
  t.equal(redactor.value('password', 12), '******')
  t.equal(redactor.value('password', { a: 1 }), '******')
  t.same(redactor.value('data', { a: 1, b: true, c: null, d: ['x', { token: '' }], e: undefined, f: {} }), {
    a: 1,
    b: true,
    c: null,
    d: ['x', { token: '' }],
    e: undefined,
    f: {},
  })
  t.equal(redactor.value('password', ''), '')
  t.same(Object.keys(redactor.value('', JSON.parse('{"__proto__":{"polluted":true}}')) as object), ['__proto__'])
  t.same(redactor.value('', Object.assign(Object.create(null), { pin: 1 })), { pin: '******' })
  t.same(redactor.value('', { 'http://u:p@h': 1 }), { 'http://******@h': 1 })
})

t.test('value stays within bounds and gives nothing but plain data', async t => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  t.match(JSON.stringify(redactor.value('', circle)), /"…"/)
  t.strictSame(redactor.value('', Array(6000).fill(1)), [...Array(5000).fill(1), '…'])
  t.strictSame(redactor.value('', [new Map([['pin', canary]]), () => canary, 1n, new Date(0), new URLSearchParams()]), [
    { pin: '******' },
    '[function]',
    '1',
    '1970-01-01T00:00:00.000Z',
    '[URLSearchParams]',
  ])
  t.equal(redactor.value('', 'x'.repeat(20_000)), 'x'.repeat(20_000), 'texts are not cut')
  const getter = {
    get a(): never {
      throw new Error('called')
    },
  }
  t.strictSame(
    redactor.value('', [
      new TypeError('?token=abc'),
      getter,
      new Date(Number.NaN),
      new URL('http://u:p@h/'),
      Number.NaN,
    ]),
    ['TypeError: ?token=******', { a: '[getter]' }, 'Invalid Date', 'http://******@h/', 'NaN'],
  )
})

t.test('secrets inside texts are masked by their form', async t => {
  const cases: [text: string, masked: string][] = [
    ['https://user:pass@host/a', 'https://******@host/a'],
    ['see smtp://tok@mail:25, please', 'see smtp://******@mail:25, please'],
    ['postgres://u:p/w@host/db', 'postgres://******@host/db'],
    ['mongodb://u:p@a,b/x and //u:p@c', 'mongodb://******@a,b/x and //******@c'],
    ['/a?token=abc&x=1#f', '/a?token=******&x=1#f'],
    ['?x=1&user%5Bpassword%5D=abc def', '?x=1&user%5Bpassword%5D=****** def'],
    ['?to=https%3A%2F%2Fme%3Apass%40host%2Fa%40b&x=1', '?to=https%3A%2F%2F******%40host%2Fa%40b&x=1'],
    ['/proxy/https%3a%2f%2ftok%40host', '/proxy/https%3a%2f%2f******%40host'],
    ['?to=%2Flogin%3Ftoken%3Dabc&x=1', '?to=%2Flogin%3Ftoken%3D******&x=1'],
    ['token%3dabcdefgh12', 'token%3d******'],
    ['sid=abc; theme=dark', 'sid=******; theme=dark'],
    ['password="two words" user=me', 'password="******" user=me'],
    ["password='open end", "password='******"],
    ['%zzkey=abc', '%zzkey=******'],
    ['{"url":"/?token=abc\\"d"}', '{"url":"/?token=******"}'],
    ['{"password":"a\\"b","pin":1234,"x":"y"}', '{"password":"******","pin":"******","x":"y"}'],
    ["{ 'x-api-key': 'abc', 'a': 'b' }", "{ 'x-api-key': '******', 'a': 'b' }"],
    ['Authorization: Digest a="b"', 'Authorization: ******'],
    ['proxy-authorization=Negotiate abc', 'proxy-authorization=******'],
    ['Cookie: a=b; c=d\nHost: x', 'Cookie: ******\nHost: x'],
    ['sent Bearer abc.def', 'sent Bearer ******'],
    ['sent Bearer abc.def to the stock', 'sent Bearer ****** to the stock'],
    ['Basic Bearer abc', 'Basic Bearer ******'],
    [`sent Basic ${btoa('me:pass')}`, 'sent Basic ******'],
  ]
  for (const [text, masked] of cases) {
    t.equal(redactor.text(text), masked)
    t.equal(redactor.text(masked), masked)
  }
})

t.test('ordinary texts stay as they are', async t => {
  const texts = [
    'No route found for "GET http://localhost:8000/@user/a?page=2&empty=&token="',
    'Invalid CSRF token: the form has expired.',
    'Basic authentication, then a Bearer token.',
    'at f (file:///app/node_modules/.pnpm/a@1.0.0/x.js:1:2)',
    'http://[::1]:8000/@x and http://host//a',
    '{"token":"","password":null,"a":{"b":1}}',
    'Invalid cookie: the name is empty',
    'a == b, c => d',
    '?to=http%3A%2F%2Fhost%2F%40user&mail=a%40b',
  ]
  for (const text of texts) t.equal(redactor.text(text), text)
})

t.test('masking twice is masking once, and no text makes it throw', async t => {
  const piece = fc.constantFrom(
    ...[
      'token',
      'x',
      '=',
      '%3D',
      '//',
      '%2f%2F',
      ':',
      '@',
      '%40',
      '/',
      '?',
      '&',
      ' ',
      '"',
      "'",
      '\\',
      'Bearer ',
      'Basic ',
      '\n',
    ],
    ...['authorization', 'cookie: ', '"pin":', '1', '%zz', btoa('me:pass'), '<', ';', '\ud800'],
  )
  const text = fc.oneof(
    fc.array(piece, { maxLength: 30 }).map(pieces => pieces.join('')),
    fc.string({ unit: anyCharacter }),
  )
  fc.assert(
    fc.property(text, text => redactor.text(redactor.text(text)) === redactor.text(text)),
    // Without their blanks, these are URLs.
    { numRuns: 5000, examples: [[`?token='Basic "`], [`?token=\\" "`], [`?token='\n"`]] },
  )
  const json = fc.jsonValue()
  fc.assert(
    fc.property(json, value => {
      const once = redactor.value('data', value)
      t.strictSame(redactor.value('data', once), once)
    }),
    { numRuns: 100 },
  )
})

t.test('the environment has all names, and only the values that may be seen', async t => {
  const environment = new Redactor({ SECRET: 'x', TZ: 'UTC', PATH: '/bin', EMPTY: '', MISSING: undefined })
  t.strictSame(Object.entries(environment.environment()), [
    ['EMPTY', ''],
    ['MISSING', ''],
    ['PATH', '******'],
    ['SECRET', '******'],
    ['TZ', 'UTC'],
  ])
})

t.test('values of declared settings are shown, unless they are secret', async t => {
  const environment = new Redactor({ PAGE_SIZE: '3', LICENCE: 'Xk7-Canary-9', SHOP: 'https://me:Xk7Canary9@shop' })
  const text = 'sent Xk7-Canary-9 to Xk7Canary9@shop'
  t.equal(environment.text('sent Xk7-Canary-9'), 'sent Xk7-Canary-9')
  t.equal(environment.isSecret('LICENCE'), false)
  environment.declare([
    { name: 'PAGE_SIZE', isSecret: false },
    { name: 'LICENCE', isSecret: true },
    { name: 'SHOP', isSecret: false },
  ])
  t.strictSame(environment.environment(), { LICENCE: '******', PAGE_SIZE: '3', SHOP: 'https://******@shop' })
  t.equal(environment.text(text), 'sent ****** to ******@shop')
  t.equal(environment.text('sent Xk7-Canary-9'), 'sent ******', 'also a text that was harmless before')
  t.equal(environment.isSecret('licence'), true)
  t.strictSame(environment.value('', { Licence: 'short', PAGE_SIZE: '3' }), { Licence: '******', PAGE_SIZE: '3' })
  environment.reveal(['licence'])
  t.equal(environment.text('sent Xk7-Canary-9'), 'sent Xk7-Canary-9', 'revealed names take precedence')
})

t.test('each entry of a secret setting is masked', async t => {
  const list = new Redactor({ SHOP_LICENCES: 'Xk7-Canary-9, Xk8-Canary-9,,short', SECRETS: 'Xk9-Canary-9,short' })
  list.declare([{ name: 'SHOP_LICENCES', isSecret: true }])
  t.equal(list.text('Xk8-Canary-9 or Xk7-Canary-9, in short'), '****** or ******, in short')
  t.equal(list.text('of Xk7-Canary-9, Xk8-Canary-9,,short'), 'of ******')
  t.equal(list.text('Xk9-Canary-9'), 'Xk9-Canary-9', 'a variable that is no setting is one text')
})

t.test('values under revealed names are shown everywhere', async t => {
  const open = new Redactor({ CONTACT_EMAIL: 'ada@example.com', API_KEY: 'a-long-api-key' })
  const form = () => open.value('', { email: 'ada@example.com', 'user[Email]': 'ada', email_token: 'x' })
  t.strictSame(form(), { email: '******', 'user[Email]': '******', email_token: '******' })
  open.reveal(['email', 'Contact_Email'])
  t.strictSame(form(), { email: 'ada@example.com', 'user[Email]': 'ada', email_token: '******' })
  t.equal(
    open.text('?email=ada@example.com&user[email]=ada&token=x'),
    '?email=ada@example.com&user[email]=ada&token=******',
  )
  t.strictSame(open.environment(), { API_KEY: '******', CONTACT_EMAIL: 'ada@example.com' })
  t.equal(open.text('write to ada@example.com, not to a-long-api-key'), 'write to ada@example.com, not to ******')
  t.equal(
    open.source("email = 'a1b2c3d4'; token = 'a1b2c3d4' + 'a-long-api-key'"),
    "email = 'a1b2c3d4'; token = '******' + '******'",
  )
  t.ok(redactor.isSecret('email'), 'another redactor')
  t.ok(open.isSecret('email[]'), 'the last brackets are empty')
})

t.test('each function that is added masks every text', async t => {
  const more = new Redactor()
  more.add(text => text.replaceAll('ada', '******'))
  more.add(text => text.replaceAll('grace', '******'))
  t.equal(more.text('by ada and grace, token=x'), 'by ****** and ******, token=******')
})

t.test('a variable that may be shown is masked as any text', async t => {
  const editor = new Redactor({ EDITOR_URL: 'https://me:hunter@host/{file}' })
  editor.declare([{ name: 'EDITOR_URL', isSecret: false }])
  t.strictSame(editor.environment(), { EDITOR_URL: 'https://******@host/{file}' })
})

t.test('a value with a name beside it is masked by that name', async t => {
  t.strictSame(
    redactor.value('', [
      { name: 'password', value: 'x' },
      { k: 'password', v: 'x' },
      { name: 'a', value: 'b' },
      { key: 'a', value: 'b', name: 1 },
    ]),
    [
      { name: 'password', value: '******' },
      { k: 'password', v: '******' },
      { name: 'a', value: 'b' },
      { key: '******', value: 'b', name: 1 },
    ],
  )
  t.strictSame(redactor.value('', { field: 'token', content: '', name: 'x' }), {
    field: 'token',
    content: '',
    name: 'x',
  })
})

t.test('values of secret variables are masked wherever they occur, in each of their forms', async t => {
  const secret = 'q"ué/ß +12!'
  const environment = new Redactor({ APP_SECRET: secret })
  const forms = [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(secret).replace('!', '%21'),
    encodeURIComponent(secret).toLowerCase(),
    new URLSearchParams({ a: secret }).toString().slice(2),
    JSON.stringify(secret).slice(1, -1),
  ]
  for (const form of forms) t.equal(environment.text(`<${form}>`), '<******>')
})

t.test('response headers with public values are readable', async t => {
  const headers: readonly (readonly [name: string, value: string])[] = [
    ['access-control-allow-credentials', 'true'],
    ['www-authenticate', 'Basic realm="Shop", charset="UTF-8"'],
    ['WWW-Authenticate', 'Digest realm="Shop", qop="auth", algorithm=SHA-256'],
    ['proxy-authenticate', 'Bearer realm="api", error="invalid_token"'],
    ['signature-input', 'sig1=("@method" "@path");created=1618884473;keyid="rsa-1"'],
  ]
  t.strictSame(
    headers.filter(([name, value]) => redactor.value(name, value) !== value),
    [],
  )
})

t.test('the userinfo of a URL is masked whatever characters it has', async t => {
  const urls = [
    'postgres://u:p#Kq3W@db/x',
    'postgres://u:p?Kq3W@db/x?a=1',
    'postgres://u:12/Kq3W@db/x',
    'redis://:p#Kq3W@h',
    'redis://:p/Kq3W@h',
    'amqp://u:a//Kq3W@h',
  ]
  t.strictSame(
    urls.map(url => redactor.text(url)),
    [
      'postgres://******@db/x',
      'postgres://******@db/x?a=1',
      'postgres://******@db/x',
      'redis://******@h',
      'redis://******@h',
      'amqp://******@h',
    ],
  )
})

t.test('a longer secret wins over one that it contains', async t => {
  const environment = new Redactor({ A_KEY: 'abcdefgh', B_KEY: 'abcdefgh.1234' })
  t.equal(environment.text('abcdefgh.1234 abcdefgh'), '****** ******')
})

t.test('variables that carry a secret count as secrets, with the password they carry', async t => {
  const environment = new Redactor({
    DATABASE_URL: 'postgres://me:hunter%202000@db/name',
    MAILER_DSN: 'smtp://me:100%25%zz-sure@mail',
    REDIS_URL: "redis://me:it's(it)!@cache",
  })
  t.equal(environment.text("it was redis://me:it's(it)!@cache"), 'it was ******')
  t.equal(environment.text('it was postgres://me:hunter%202000@db/name'), 'it was ******')
  t.equal(environment.text('hunter 2000 or hunter%202000 or 100%25%zz-sure'), '****** or ****** or ******')
})

t.test('variables that occur in ordinary texts are not masked', async t => {
  const environment = new Redactor({
    PATH: '/usr/local/bin',
    PWD: '/srv/site',
    APP_HOSTS: 'example.org',
    TRUSTED_PROXIES: '127.0.0.1',
    SITE_URL: 'https://example.org/',
    SHORT_KEY: 'seven77',
    TZ: 'Europe/Berlin',
    __NEXT_PRIVATE_ORIGIN: 'http://localhost:3000',
    API_HOST: '127.0.0.1',
  })
  const text =
    'at f (/srv/site/x.ts:1:2) http://localhost:3000/items https://example.org/ 127.0.0.1 /usr/local/bin seven77 Europe/Berlin'
  t.equal(environment.text(text), text)
  const others = new Redactor({ PRIVATE_API: 'https://api.example.org', PRIVATE_HOOK: 'http://localhost:3000/hook-9' })
  t.equal(others.text('https://api.example.org/a http://localhost:3000/hook-9'), '******/a ******')
  const declared = new Redactor({ APP_KEY: 'visible-value' })
  declared.declare([{ name: 'APP_KEY', isSecret: false }])
  t.equal(declared.text('visible-value'), 'visible-value')
})

t.test('secrets in the arguments of a command line are masked, wherever they stand', async t => {
  const values = ['run', '--token', 'abc', '--api-key=abc', '--password', '--port', '80', '--secret', '', 'token', 'x']
  t.strictSame(redactor.commandLine(values), [
    ...['run', '--token', '******', '--api-key=******', '--password', '--port', '80', '--secret', '', 'token', 'x'],
  ])
  t.strictSame(redactor.commandLine(['sshpass', '-p', 'hunter2000', 'ssh']), ['sshpass', '-p', '******', 'ssh'])
})
