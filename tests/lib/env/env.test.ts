import { readFileSync } from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { readConfig, shippedSecret } from '#lib/env/config.ts'
import { findMisnamedFiles, readDotenv } from '#lib/env/dotenv.ts'
import { Settings } from '#lib/env/settings.ts'
import { parseConfig } from '#tests/support/parse-config.ts'

const APP_SECRET = 'a secret of more than thirty-two characters'

t.test('dotenv', async t => {
  t.test('later files win over earlier ones, and the process over all', async t => {
    const directory = t.testdir({
      '.env': 'APP_ENV=dev\nA=env\nB=env\nC=env\nD=env\nE=env',
      '.env.local': 'B=local\nC=local\nD=local\nE=local',
      '.env.dev': 'C=dev\nD=dev\nE=dev',
      '.env.dev.local': 'D=dev.local\nE=dev.local',
      '.env.prod': 'A=prod',
    })
    const { variables, files } = readDotenv(directory, { E: 'process', F: 'process', G: undefined })
    const { APP_ENV, ...rest } = variables
    t.equal(APP_ENV, 'dev')
    t.same(rest, { A: 'env', B: 'local', C: 'dev', D: 'dev.local', E: 'process', F: 'process' })
    t.strictSame(files, { APP_ENV: '.env', A: '.env', B: '.env.local', C: '.env.dev', D: '.env.dev.local' })
  })

  t.test('the environment is the argument, that of the process, that of the files, or dev', async t => {
    const files = {
      '.env': 'APP_ENV=dev',
      '.env.local': 'APP_ENV=prod',
      '.env.dev': 'FROM=dev',
      '.env.prod': 'FROM=prod',
      '.env.test': 'FROM=test',
    }
    const directory = t.testdir({ all: files, none: { '.env.dev': 'FROM=dev' } })
    const read = (folder: string, variables: Record<string, string>, name?: string) =>
      readDotenv(path.join(directory, folder), variables, name).variables
    t.strictSame(read('all', { APP_ENV: 'dev' }, 'test'), { APP_ENV: 'test', FROM: 'test' })
    t.strictSame(read('all', { APP_ENV: 'test' }), { APP_ENV: 'test', FROM: 'test' })
    t.strictSame(read('all', { APP_ENV: '' }), { APP_ENV: '', FROM: 'dev' })
    t.strictSame(read('all', {}), { APP_ENV: 'prod', FROM: 'prod' })
    t.strictSame(read('none', {}), { FROM: 'dev' })
  })

  t.test('files with nearly the name of one that is read are found, unless that one exists, too', async t => {
    const cases: Readonly<Record<string, string>> = {
      '.env.production': '.env.prod',
      '.env.development': '.env.dev',
      '.env.testing': '.env.test',
      '.env.production.local': '.env.prod.local',
      '.env.local.development': '.env.dev.local',
      '.env.local.prod': '.env.prod.local',
      '.env.producton': '.env.prod',
      '.env.pord': '.env.prod',
      '.env.locl': '.env.local',
      '.env.Prod': '.env.prod',
      '.env_prod': '.env.prod',
      '.env-local': '.env.local',
      '.env.dev.lcoal': '.env.dev.local',
    }
    const others =
      '.env .env.local .env.dev .env.prod.local .env.example .env.sample .env.dist .env.template .env.vault .env.keys .env.bak'
    const more =
      '.env.staging .env.ci .env.local.bak .env.dev.prod .env.local.php .env.prod.enc .env.de .env.fr .env.pro .env.qa .envrc .envs env.production .environment'
    const toFiles = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, '']))
    for (const [file, name] of Object.entries(cases)) {
      t.strictSame(findMisnamedFiles(t.testdir(toFiles(['.env', file]))), [{ file, name }], file)
      t.strictSame(findMisnamedFiles(t.testdir(toFiles([name, file]))), [], `${file}, which may belong to another tool`)
    }
    t.strictSame(findMisnamedFiles(t.testdir(toFiles(`${others} ${more}`.split(' ')))), [])
    t.strictSame(findMisnamedFiles(path.join(t.testdir(), 'none')), [])
  })

  t.test('tests do not depend on .env.local', async t => {
    const directory = t.testdir({ '.env': '', '.env.local': 'A=1', '.env.test.local': 'B=1' })
    t.same(readDotenv(directory, {}, 'test').variables, { APP_ENV: 'test', B: '1' })
  })

  t.test('an unknown environment does not become part of a file name', async t => {
    const directory = t.testdir({ '.env': '', '.env.x': 'A=1', app: {} })
    t.strictSame(readDotenv(path.join(directory, 'app'), {}, '/../../.env.x').files, {})
    t.strictSame(readDotenv(directory, { APP_ENV: 'local' }).files, {})
  })

  t.test('files may be missing', async t => {
    t.same(readDotenv(path.join(t.testdir({}), 'none'), { A: '1' }), { variables: { A: '1' }, files: {}, doubts: [] })
  })

  t.test('a file that cannot be read is named', async t => {
    const directory = t.testdir({ '.env': {} })
    const file = path.join(directory, '.env')
    t.throws(() => readDotenv(directory, {}), {
      code: 'CONFIG_FILE_UNREADABLE',
      message: `The file "${file}" cannot be read: EISDIR: it is a folder.`,
    })
    const wide = t.testdir({ '.env': Buffer.from('\uFEFFA=1', 'utf16le') })
    t.throws(() => readDotenv(wide, {}), { message: 'cannot be read: it is UTF-16, and must be UTF-8.' })
  })

  t.test('a .env file may contain comments, quotes and export', async t => {
    const content =
      '\uFEFF# comment\r\n\r\n  export A=1 \r\nB="two\nlines" # comment\nC=\'#\'\nD=a=b # c\nE=\nF=`"`\n  # end\nG=it\'s'
    const expected = { A: '1', B: 'two\nlines', C: '#', D: 'a=b', E: '', F: '"', G: "it's" }
    t.same(readDotenv(t.testdir({ '.env': content }), {}).variables, expected)
  })

  t.test(
    'a second value of a variable and a variable in a value are named with their lines, and not shown',
    async t => {
      const content = `A=1\nB=\${A}2\n\nA=3\nC='\${A}'\nD=$1\nA=3\nE=\nE=\nF=a\${b`
      const { doubts, variables } = readDotenv(t.testdir({ '.env': content, '.env.local': 'A=4' }), {})
      t.match(variables, { A: '4', B: `\${A}2`, C: `\${A}` })
      t.strictSame(doubts, [
        '.env has a variable in B at line 2, which is not expanded: write its value, or single quotes around the text',
        '.env sets A again at line 4: only this value counts',
      ])
      const doubtsOf = (text: string) => readDotenv(t.testdir({ '.env': text }), {}).doubts.join()
      const offences = Object.entries({
        'A=#fff': '.env ends A before "#" at line 1: write quotes around the text, or a blank before a comment',
        'A=pass#word': '.env ends A before "#" at line 1',
        'A=https://a.test/#/b': '.env ends A before "#" at line 1',
        'A=1\nURL=http://$A/b': '',
        'HOST=a\nURL=http://$HOST/b': '.env has a variable in URL at line 2, which is not expanded',
        'A=\x24{B:-c}': '.env has a variable in A at line 1',
      }).filter(([text, doubt]) => !doubtsOf(text).startsWith(doubt) || (doubt === '' && doubtsOf(text) !== ''))
      t.strictSame(offences, [])
    },
  )

  t.test('unusual lines are read as dotenv reads them, and right ones are not doubted', async t => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ+/==\n-----END PRIVATE KEY-----'
    /** The texts after `A=`, with their values. */
    const right: readonly (readonly [written: string, value: string])[] = [
      [`"${key}\n"`, `${key}\n`],
      [`'${key}'`, key],
      [`"${key.replaceAll('\n', '\\n')}"`, key],
      ['MIIEvQ+/aGVsbG8=', 'MIIEvQ+/aGVsbG8='],
      ['aGk==', 'aGk=='],
      ['"https://a.test/?b=c&d=e#f"', 'https://a.test/?b=c&d=e#f'],
      ["'https://a.test/#/b'", 'https://a.test/#/b'],
      ['postgres://u:p%23w@h:5432/d?sslmode=require', 'postgres://u:p%23w@h:5432/d?sslmode=require'],
      ['redis://:p@h:6379/0', 'redis://:p@h:6379/0'],
      ['C:\\temp\\new', 'C:\\temp\\new'],
      ["'C:\\temp\\new'", 'C:\\temp\\new'],
      ['\\\\server\\share', '\\\\server\\share'],
      ['pa$$word', 'pa$$word'],
      ['"a$b$1$"', 'a$b$1$'],
      ['x$NOT_SET', 'x$NOT_SET'],
      [`'a\${b}c'`, `a\${b}c`],
      [`"\\\${x}"`, `\\\${x}`],
      ['"\\$HOME"', '\\$HOME'],
      ['{"a":"b c","d":[1]}', '{"a":"b c","d":[1]}'],
      [`'{"a": {"b": "#"}}'`, '{"a": {"b": "#"}}'],
      ['{\\"a\\":1}', '{\\"a\\":1}'],
      ['`{"it\'s": 1}`', '{"it\'s": 1}'],
      ['"two\nlines"', 'two\nlines'],
      ['"two\r\nlines"', 'two\nlines'],
      ["'two\nlines'", 'two\nlines'],
      ['"\n\n"', '\n\n'],
      ['été', 'été'],
      ['"日本 😀"', '日本 😀'],
      ['a b  c', 'a b  c'],
      [' a ', 'a'],
      ['\ta', 'a'],
      ['" a "', ' a '],
      ['a # comment', 'a'],
      ['"a" # comment', 'a'],
      ["'a # b' # c", 'a # b'],
      ['# comment', ''],
      [' # comment', ''],
      ['#', ''],
      ['', ''],
      ['""', ''],
      ["''", ''],
      ['"#fff"', '#fff'],
      ["'#fff'", '#fff'],
      ["it's", "it's"],
      ['a"b"c', 'a"b"c'],
      ['a\\nb', 'a\\nb'],
      ["'a\\nb'", 'a\\nb'],
      ['"a\\nb"', 'a\nb'],
      ['"a\\tb"', 'a\\tb'],
      ['(a b)', '(a b)'],
      ['~/x', '~/x'],
      ['%PATH%', '%PATH%'],
      ['$(date)', '$(date)'],
      ['*', '*'],
      ['!x', '!x'],
      ['1;', '1;'],
      ['a,b, c', 'a,b, c'],
      ['[1, 2]', '[1, 2]'],
      ['&x|y>z', '&x|y>z'],
      ['@x:y', '@x:y'],
      ['00123', '00123'],
      ['null', 'null'],
    ]
    const offences = right.flatMap(([written, value]) =>
      ['', 'export ', '  export  '].flatMap(start => {
        const { doubts, variables } = readDotenv(t.testdir({ '.env': `${start}A=${written}\nB=1` }), {})
        const { A, B } = variables
        return A === value && B === '1' && doubts.length === 0 ? [] : [[start, written, A, B, ...doubts]]
      }),
    )
    t.strictSame(offences, [])
    t.match(readDotenv(t.testdir({ '.env': 'A = 1\r\nB =\t"2"\r\n' }), {}).variables, { A: '1', B: '2' })
  })

  t.test('a malformed file is named with the line, and never shown', async t => {
    const malformed: [content: string, line: number][] = [
      ['A=1\n\nhunter2', 3],
      ['A="hunter2\nB=1', 1],
      ["A='hunter2's'", 1],
      ['=hunter2', 1],
      ['A B=hunter2', 1],
      ['A="x\ny"\n1A=hunter2', 3],
      ['A: hunter2', 1],
      ['A="a\\"hunter2"', 1],
    ]
    for (const [content, line] of malformed) {
      const directory = t.testdir({ '.env': 'A=1', '.env.dev': content })
      t.throws(() => readDotenv(directory, {}), {
        code: 'CONFIG_FILE_MALFORMED',
        message: new RegExp(`^(?!.*hunter2).*\\.env\\.dev" is malformed at line ${line}:`),
      })
    }
  })

  t.test('every value that can be written is read unchanged', async t => {
    const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,5}$/).filter(name => name !== 'APP_ENV')
    const value = fc.string({ unit: fc.constantFrom(...'ab =#$\n"{}\\') })
    fc.assert(
      fc.property(fc.dictionary(name, value), values => {
        const lines = Object.entries(values).map(([name, value]) => `${name}='${value}'`)
        const { variables } = readDotenv(t.testdir({ '.env': lines.join('\n') }), {})
        t.strictSame({ ...variables }, { ...values })
      }),
      { numRuns: 50 },
    )
  })
})

t.test('config', async t => {
  t.test('the shipped .env is a valid configuration for development', async t => {
    const { variables, files } = readDotenv(process.cwd(), {}, 'dev')
    t.equal(readFileSync('.env', 'utf8').includes(`APP_SECRET=${shippedSecret}`), true)
    t.hasStrict(parseConfig(variables), { environment: 'dev', isDebug: true })
    t.equal(files.APP_SECRET, '.env')
  })

  t.test('in development and tests, nothing is needed', async t => {
    t.hasStrict(parseConfig({}), { environment: 'dev', isDebug: true, secret: shippedSecret })
    t.equal(parseConfig({ APP_ENV: 'test' }).secret, shippedSecret)
    t.throws(() => parseConfig({ APP_ENV: 'prod' }), { code: 'CONFIG_INVALID', message: 'APP_SECRET is not set' })
  })

  t.test('without APP_ENV, the environment is prod where NODE_ENV is production', async t => {
    t.hasStrict(parseConfig({ NODE_ENV: 'production', APP_SECRET }), { environment: 'prod', isDebug: false })
    const secret = { NODE_ENV: 'production', APP_SECRET: shippedSecret }
    t.throws(() => parseConfig(secret), { message: 'APP_SECRET is not a secret of its own' })
    const directory = t.testdir({ '.env.dev': 'A=dev', '.env.prod': 'A=prod' })
    t.equal(readDotenv(directory, { NODE_ENV: 'production' }).variables.A, 'prod')
    t.equal(readDotenv(directory, { NODE_ENV: 'production', APP_ENV: 'dev' }).variables.A, 'dev')
  })

  t.test('without other settings, they have their defaults', async t => {
    t.strictSame(parseConfig({ APP_SECRET }), {
      environment: 'dev',
      isDebug: true,
      secret: APP_SECRET,
      oldSecrets: [],
      url: undefined,
      hosts: [],
      trustedProxies: [],
      trustedHeaders: [
        'x-forwarded-for',
        'x-forwarded-host',
        'x-forwarded-proto',
        'x-forwarded-port',
        'x-forwarded-prefix',
      ],
      debugAllowedIps: [],
      debugAllowedUsers: [],
      debugKey: undefined,
      logLevel: 'info',
    })
  })

  t.test('every setting is read', async t => {
    const config = parseConfig({
      APP_ENV: 'prod',
      APP_SECRET,
      APP_SECRET_OLD: `${APP_SECRET}, ${APP_SECRET}`,
      APP_URL: 'https://Example.org:443/shop/',
      APP_HOSTS: 'Example.org, *.Example.org,,127.0.0.1,[::1]',
      TRUSTED_PROXIES: '10.0.0.0/8, private_ranges',
      TRUSTED_HEADERS: 'Forwarded, x-forwarded-for',
      DEBUG_ALLOWED_IPS: '192.168.1.7',
      DEBUG_ALLOWED_USERS: 'www-data, 1001',
      DEBUG_KEY: 'sixteen.letters~',
      LOG_LEVEL: 'error',
      UNKNOWN: 'ignored',
    })
    t.strictSame(config, {
      environment: 'prod',
      isDebug: false,
      secret: APP_SECRET,
      oldSecrets: [APP_SECRET, APP_SECRET],
      url: 'https://example.org/shop',
      hosts: ['example.org', '*.example.org', '127.0.0.1', '[::1]'],
      trustedProxies: ['10.0.0.0/8', 'private_ranges'],
      trustedHeaders: ['forwarded', 'x-forwarded-for'],
      debugAllowedIps: ['192.168.1.7'],
      debugAllowedUsers: ['www-data', '1001'],
      debugKey: 'sixteen.letters~',
      logLevel: 'error',
    })
  })

  t.test('the address of the application is a URL without a query', async t => {
    const read = (APP_URL: string) => parseConfig({ APP_SECRET, APP_URL }).url
    t.equal(read('http://127.0.0.1:8000'), 'http://127.0.0.1:8000')
    t.equal(read('https://a.test//'), 'https://a.test')
    for (const wrong of [
      'a.test',
      'ftp://a.test',
      'https://',
      'https://a b',
      'https://u:p@a.test',
      'http://a/?b',
      'http://a/#',
    ]) {
      t.throws(() => read(wrong), {
        message: `  APP_URL "${wrong.replace('u:p', '******')}" is not a URL of http or https without a query, such as https://example.org or https://example.org/shop.`,
      })
    }
  })

  t.test('the configuration is frozen', async t => {
    const config = parseConfig({ APP_SECRET, APP_HOSTS: 'a' })
    t.ok(Object.isFrozen(config) && Object.isFrozen(config.hosts))
    t.ok(
      Object.isFrozen(config.trustedProxies) &&
        Object.isFrozen(config.trustedHeaders) &&
        Object.isFrozen(config.debugAllowedIps),
    )
  })

  t.test('a NODE_ENV that means production, and that no library knows, is refused in development', async t => {
    for (const NODE_ENV of ['prod', 'Production', 'LIVE', 'production ', 'prodution', 'producton']) {
      t.throws(() => parseConfig({ NODE_ENV, APP_ENV: 'dev' }), { message: `NODE_ENV "${NODE_ENV}" is not a name` })
      t.doesNotThrow(() => parseConfig({ NODE_ENV, APP_ENV: 'prod', APP_SECRET }))
    }
    for (const NODE_ENV of ['development', 'test', 'staging', 'preprod'])
      t.hasStrict(parseConfig({ NODE_ENV }), { environment: 'dev' }, NODE_ENV)
  })

  t.test('debug is on in dev and test, off in prod, as APP_DEBUG says, never if NODE_ENV is production', async t => {
    const isDebug = (variables: Record<string, string>) => parseConfig({ APP_SECRET, ...variables }).isDebug
    for (const APP_ENV of ['dev', 'test', 'prod']) {
      t.equal(isDebug({ APP_ENV }), APP_ENV !== 'prod')
      for (const APP_DEBUG of ['1', 'true', 'YES', 'On']) t.equal(isDebug({ APP_ENV, APP_DEBUG }), true)
      for (const APP_DEBUG of ['0', 'false', 'No', 'OFF']) t.equal(isDebug({ APP_ENV, APP_DEBUG }), false)
      t.equal(isDebug({ APP_ENV, APP_DEBUG: '1', NODE_ENV: 'production' }), false)
    }
  })

  t.test('the default log level is debug in dev only', async t => {
    t.equal(parseConfig({ APP_SECRET, APP_ENV: 'test' }).logLevel, 'warning')
    t.equal(parseConfig({ APP_SECRET, APP_ENV: 'prod' }).logLevel, 'warning')
  })

  t.test('headers of no proxy are refused, and proxies that any client could be', async t => {
    for (const [variables, message] of [
      [{ TRUSTED_HEADERS: 'x-forwarded-for' }, 'TRUSTED_HEADERS has no effect without TRUSTED_PROXIES'],
      [
        { TRUSTED_PROXIES: '10.0.0.1,0.0.0.0/0' },
        'TRUSTED_PROXIES "0.0.0.0/0" would let each client choose its address',
      ],
      [{ TRUSTED_PROXIES: '::/0' }, 'TRUSTED_PROXIES "::/0" would let each client'],
      [{ TRUSTED_PROXIES: '0.0.0.0' }, 'TRUSTED_PROXIES "0.0.0.0" is the address of no proxy'],
    ] as const) {
      t.throws(() => parseConfig({ APP_SECRET, ...variables }), {
        code: 'CONFIG_INVALID',
        message: new RegExp(message),
      })
    }
  })

  t.test('all mistakes are reported at once, without the values of secrets', async t => {
    const variables = {
      APP_ENV: 'staging',
      APP_DEBUG: 'maybe',
      APP_SECRET: 'hunter2',
      APP_HOSTS: 'a.org,b.org:80,c/d,*,e.,f:',
      TRUSTED_PROXIES: 'proxy,::1',
      TRUSTED_HEADERS: 'x-real-ip',
      DEBUG_ALLOWED_IPS: '::1,10.0.0.0/33',
      DEBUG_ALLOWED_USERS: 'ann,-1,a:b',
      DEBUG_KEY: 'hunter2 hunter2 hunter2',
      LOG_LEVEL: 'warn',
    }
    const host = 'is not a host name such as example.org or *.example.org.'
    const address = 'is not an IP address or a subnet such as 10.0.0.0/8.'
    const user = 'is not the name or the id of a user, such as www-data or 33.'
    const message = [
      'The configuration has mistakes:',
      '  APP_ENV "staging" is not one of dev, prod, test.',
      '  APP_DEBUG "maybe" is not a flag: 1, true, yes, on, or 0, false, no, off.',
      '  APP_SECRET is not a text of at least 32 random characters.',
      ...['b.org:80', 'c/d', '*', 'e.', 'f:'].map(entry => `  APP_HOSTS "${entry}" ${host}`),
      '  TRUSTED_PROXIES "proxy" is not an IP address, a subnet such as 10.0.0.0/8, or private_ranges.',
      '  TRUSTED_HEADERS "x-real-ip" is not one of forwarded, x-forwarded-for, x-forwarded-host, x-forwarded-proto, x-forwarded-port, x-forwarded-prefix, x-request-id.',
      `  DEBUG_ALLOWED_IPS "10.0.0.0/33" ${address}`,
      ...['-1', 'a:b'].map(entry => `  DEBUG_ALLOWED_USERS "${entry}" ${user}`),
      '  DEBUG_KEY is not a text of at least 16 letters, digits or -._~.',
      '  LOG_LEVEL "warn" is not one of debug, info, warning, error, critical.',
    ].join('\n')
    t.throws(() => parseConfig(variables), { code: 'CONFIG_INVALID', message })
    t.throws(() => parseConfig({ NODE_ENV: 'production', APP_ENV: 'dev' }), {
      message:
        /mistakes:\n {2}APP_SECRET is not set; it must be a secret of its own .*\. NODE_ENV is production, but APP_ENV is dev: /,
    })
    t.strictSame(
      readConfig(new Settings({ variables })),
      {
        environment: 'prod',
        isDebug: false,
        secret: '',
        oldSecrets: [],
        url: undefined,
        hosts: [],
        trustedProxies: [],
        trustedHeaders: [],
        debugAllowedIps: [],
        debugAllowedUsers: [],
        debugKey: undefined,
        logLevel: 'warning',
      },
      'bundles are loaded with provisional values, those of production',
    )
  })

  t.test('production refuses the shipped secret, also among other mistakes', async t => {
    const variables = { APP_SECRET: shippedSecret, APP_ENV: 'prod', LOG_LEVEL: 'x' }
    t.throws(() => parseConfig(variables), {
      message:
        / {2}APP_SECRET is not a secret of its own .* \(node -p "crypto\.randomBytes\(32\)\.toString\('hex'\)" prints one\); the one of the shipped \.env is public\.\n {2}LOG_LEVEL /,
    })
    t.ok(parseConfig({ APP_SECRET: shippedSecret, APP_ENV: 'test' }))
  })

  t.test('the shipped secret is refused where debug is off, with the reason if APP_ENV is not NODE_ENV', async t => {
    const variables = { APP_SECRET: shippedSecret, APP_ENV: 'dev', NODE_ENV: 'production' }
    const settings = new Settings({ variables, files: { APP_SECRET: '.env', APP_ENV: '.env' } })
    readConfig(settings)
    t.throws(() => settings.check(), {
      message:
        / APP_SECRET \(\.env\) is not a secret of its own .* is public\. NODE_ENV is production, but APP_ENV is dev in \.env: set APP_ENV=prod in \.env\.local or the environment\.$/,
    })
    t.throws(() => parseConfig({ APP_SECRET: shippedSecret, APP_DEBUG: '0' }), { message: /own .* is public\.$/ })
    t.throws(() => parseConfig({ APP_DEBUG: '0' }), {
      message: / APP_SECRET is not set; it must be a secret of its own/,
    })
  })
})
