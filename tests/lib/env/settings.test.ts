import { asFlag, asInteger, asListOf, asOneOf, asUrl } from 'sinfonietta'
import t from 'tap'
import * as v from 'valibot'
import { z } from 'zod'
import { readConfig } from '#lib/env/config.ts'
import {
  type BundleSettings,
  defineSettings,
  type Setting,
  Settings,
  warnOfUnknownSettings,
} from '#lib/env/settings.ts'
import type { StandardSchema } from '#lib/schema/standard-schema.ts'

type Variables = Readonly<Record<string, string>>

/** The mistakes of one declaration. */
function mistakesOf<values>(settings: BundleSettings<values>, variables: Variables = {}): string[] {
  const all = new Settings({ variables })
  all.declare('library', settings)
  try {
    all.check()
    return []
  } catch (error) {
    const [title, ...lines] = (error as Error).message.split('\n')
    t.equal(title, 'The configuration has mistakes:')
    return lines.map(line => line.replace(/^ {2}/, ''))
  }
}

/** The mistakes of a setting with the name `SIZE`. */
function refuse(setting: Setting, text?: string): string[] {
  const settings = { definitions: { SIZE: setting }, check: () => ({}) }
  return mistakesOf(settings, text === undefined ? {} : { SIZE: text })
}

const librarySettings = defineSettings({
  LIBRARY_NAME: { help: 'the name' },
  LIBRARY_OWNER: { help: 'the owner', default: undefined },
  LIBRARY_PAGE_SIZE: { help: 'books on a page', schema: asInteger, default: 20 },
  LIBRARY_IS_OPEN: { help: 'whether books can be borrowed', schema: asFlag, default: false },
  LIBRARY_ORDER: { help: 'the order of books', schema: asOneOf('title', 'author'), default: 'title' },
  LIBRARY_SHELVES: { help: 'the shelves', schema: asListOf(asInteger), default: [1] },
  LIBRARY_SITE: { help: 'the site', schema: asUrl, default: undefined },
  LIBRARY_MAIL: { help: 'the address', schema: v.optional(v.pipe(v.string(), v.email())) },
  LIBRARY_DAYS: { help: 'days until a book is back', schema: z.coerce.number().min(1), default: 14 },
})

t.test('values have the types of their schemas and defaults', async t => {
  const settings = new Settings({ variables: { LIBRARY_NAME: 'Ada', LIBRARY_PAGE_SIZE: '3', LIBRARY_DAYS: '7' } })
  settings.declare('library', librarySettings)
  settings.check()
  const values = settings.of(librarySettings)
  // Each of these lines fails to compile if a type is not inferred.
  const name: string = values.LIBRARY_NAME
  const owner: string | undefined = values.LIBRARY_OWNER
  const size: number = values.LIBRARY_PAGE_SIZE
  const isOpen: boolean = values.LIBRARY_IS_OPEN
  const order: 'title' | 'author' = values.LIBRARY_ORDER
  const shelves: readonly number[] = values.LIBRARY_SHELVES
  const site: string | undefined = values.LIBRARY_SITE
  const mail: string | undefined = values.LIBRARY_MAIL
  const days: number = values.LIBRARY_DAYS
  t.strictSame(
    [name, owner, size, isOpen, order, shelves, site, mail, days],
    ['Ada', undefined, 3, false, 'title', [1], undefined, undefined, 7],
  )
  // @ts-expect-error without a default, an optional setting may be missing
  t.equal(values.LIBRARY_OWNER satisfies string, undefined)
  // @ts-expect-error the default has another type than the schema
  t.throws(() => defineSettings({ SIZE: { help: 'size', schema: asInteger, default: 'ten' } }))
  // @ts-expect-error without a schema, a value is text
  t.throws(() => defineSettings({ SIZE: { help: 'size', default: 10 } }))
  t.ok(Object.isFrozen(values))
})

t.test('an empty value is not set', async t => {
  t.strictSame(refuse({ help: 'size', schema: asInteger, default: 20 }, ''), [])
  t.strictSame(refuse({ help: 'size' }, ''), ['SIZE is not set; it must be text.'])
  t.strictSame(refuse({ help: 'size', schema: asInteger }), ['SIZE is not set; it must be an integer of 32 bits.'])
})

t.test('a schema of another library is asked also if the setting is not set', async t => {
  t.strictSame(refuse({ help: 'size', schema: v.string() }), ['SIZE is not set, and its schema needs a value.'])
  t.strictSame(refuse({ help: 'size', schema: v.optional(v.string()) }), [])
  const settings = new Settings({ variables: {} })
  const defaults = defineSettings({ SIZE: { help: 'size', schema: z.coerce.number().default(20) } })
  t.strictSame(settings.declare('library', defaults), { SIZE: 20 })
})

t.test('mistakes show what was written and what would be right', async t => {
  t.strictSame(refuse({ help: 'size', schema: asInteger }, 'ten'), ['SIZE "ten" is not an integer of 32 bits.'])
  t.strictSame(refuse({ help: 'size', schema: asListOf(asInteger) }, '1,ten,2,x'), [
    'SIZE "ten" is not an integer of 32 bits.',
    'SIZE "x" is not an integer of 32 bits.',
  ])
  t.strictSame(refuse({ help: 'size', schema: v.pipe(v.string(), v.email(), v.maxLength(3)) }, 'nine\n'), [
    'SIZE "nine\\n" is refused by its schema: Invalid email: Received "nine "',
    'SIZE "nine\\n" is refused by its schema: Invalid length: Expected <=3 but received 5',
  ])
  t.match(refuse({ help: 'size', schema: z.coerce.number() }, 'ten'), [
    /^SIZE "ten" is refused by its schema: .*number/,
  ])
})

t.test('mistakes do not show secrets', async t => {
  const secret = 'hunter2'
  t.strictSame(refuse({ help: 'size', schema: asInteger, secret: true }, secret), [
    'SIZE is not an integer of 32 bits.',
  ])
  t.strictSame(refuse({ help: 'size', schema: asListOf(asInteger), secret: true }, `1,${secret}`), [
    'SIZE is not a list with commas, each entry an integer of 32 bits.',
  ])
  t.strictSame(refuse({ help: 'size', schema: v.pipe(v.string(), v.email()), secret: true }, secret), [
    'SIZE is refused by its schema; the reason may contain the secret and is not shown.',
  ])
  t.strictSame(mistakesOf(defineSettings({ API_KEY: { help: 'key', schema: asInteger } }), { API_KEY: secret }), [
    'API_KEY is not an integer of 32 bits.',
  ])
  t.strictSame(refuse({ help: 'size', schema: asInteger }, `https://me:${secret}@host`), [
    'SIZE "https://******@host" is not an integer of 32 bits.',
  ])
  const pair = defineSettings({ API_KEY: { help: 'key' }, NAME: { help: 'name' } }, ({ API_KEY, NAME }) => ({
    NAME: `must not be "${NAME}" with the key "${API_KEY}".`,
  }))
  t.strictSame(mistakesOf(pair, { API_KEY: secret, NAME: 'x' }), ['NAME must not be "x" with the key "******".'])
})

t.test('a schema must be synchronous, and a schema that throws refuses', async t => {
  const later: StandardSchema<string> = {
    '~standard': { version: 1, vendor: 'tests', validate: () => Promise.reject(new Error('later')) },
  }
  t.strictSame(refuse({ help: 'size', schema: later }, '1'), [
    'SIZE has an asynchronous schema; the schema of a setting must be synchronous.',
  ])
  const broken: StandardSchema<string> = {
    '~standard': {
      version: 1,
      vendor: 'tests',
      validate() {
        throw new TypeError('broken')
      },
    },
  }
  t.strictSame(refuse({ help: 'size', schema: broken }, '1'), ['SIZE "1" is refused by its schema: TypeError: broken'])
})

t.test('a function compares settings, if each of them is right', async t => {
  const pair = defineSettings(
    { USER: { help: 'user', default: undefined }, SIZE: { help: 'size', schema: asInteger, default: 1 } },
    ({ SIZE, USER }) => (USER === undefined ? { SIZE: undefined } : { USER: `needs a size of 2, not ${SIZE}.` }),
  )
  t.strictSame(mistakesOf(pair), [])
  t.strictSame(mistakesOf(pair, { USER: 'ada' }), ['USER needs a size of 2, not 1.'])
  t.strictSame(mistakesOf(pair, { USER: 'ada', SIZE: 'x' }), ['SIZE "x" is not an integer of 32 bits.'])
})

t.test('the mistakes of all bundles are reported at once', async t => {
  const settings = new Settings({ variables: { LIBRARY_NAME: 'Ada', LIBRARY_DAYS: '0', SIZE: 'x' } })
  t.strictSame(Object.keys(settings.declare('library', librarySettings)).includes('LIBRARY_DAYS'), false)
  settings.declare('shop', defineSettings({ SIZE: { help: 'size', schema: asFlag, default: true } }))
  t.throws(() => settings.check(), {
    code: 'CONFIG_INVALID',
    message:
      /^The configuration has mistakes:\n {2}LIBRARY_DAYS "0" is refused .*\n {2}SIZE "x" is not a flag: .*off\.$/,
  })
})

t.test('each name is declared once, in capital letters', async t => {
  const one = defineSettings({ SIZE: { help: 'size', default: '' } })
  const settings = new Settings({ variables: {} })
  settings.declare('library', one)
  t.throws(() => settings.declare('shop', defineSettings({ SIZE: { help: 'size' } })), {
    code: 'CONFIG_SETTING_TAKEN',
    message:
      'The setting "SIZE" is declared by the bundle "library" and by the bundle "shop". ' +
      'Rename one, for example with the name of its bundle in front.',
  })
  settings.declare('kernel', defineSettings({ APP_ENV: { help: 'environment', default: 'dev' } }))
  t.throws(() => settings.declare('shop', defineSettings({ APP_ENV: { help: 'environment' } })), {
    code: 'CONFIG_SETTING_TAKEN',
    message: /^The setting "APP_ENV" is declared by the kernel and by the bundle "shop"\./,
  })
  for (const name of ['page_size', 'PAGE SIZE', '1PAGE', '', 'PAGE-SIZE', ' PAGE']) {
    t.throws(() => settings.declare('shop', defineSettings({ [name]: { help: 'size' } })), {
      code: 'CONFIG_SETTING_MALFORMED',
      message: `The bundle "shop" declares the setting "${name}": a name consists of capital letters, digits and "_", such as "PAGE_SIZE".`,
    })
  }
})

t.test('settings that no bundle has declared cannot be read', async t => {
  t.throws(() => new Settings({ variables: {} }).of(defineSettings({ A: { help: 'a' }, B: { help: 'b' } })), {
    code: 'CONFIG_SETTINGS_UNDECLARED',
    message: /declared the settings A, B\. Add them to the bundle/,
  })
})

t.test('a mistake names the file that sets the value', async t => {
  const settings = new Settings({ variables: { SIZE: 'x', COUNT: 'y' }, files: { SIZE: '.env.local' } })
  const size = { help: 'size', schema: asInteger }
  settings.declare('shop', defineSettings({ SIZE: size, COUNT: size }))
  t.throws(() => settings.check(), { message: /SIZE \(\.env\.local\) "x" is not .*\n {2}COUNT "y" is not / })
})

t.test('all settings are listed, with the values in force and their sources', async t => {
  const variables = { NAME: 'Ada', SIZE: 'x', SHELVES: '1, 2', KEY: 'hunter2', PATHS: 'a=b', NOISY: 'yes' }
  const settings = new Settings({ variables, files: { NAME: '.env.local', KEY: '.env' } })
  const asPair = { expected: 'a pair', convert: (text: string) => ({ pair: text.split('=') }) }
  settings.declare(
    'library',
    defineSettings({
      NAME: { help: 'the name' },
      OWNER: { help: 'the owner', default: undefined },
      SIZE: { help: 'the size', schema: asInteger },
      SHELVES: { help: 'the shelves', schema: asListOf(asInteger) },
      KEY: { help: 'the key' },
      LICENCE: { help: 'the licence', default: undefined, secret: true },
      PATHS: { help: 'the paths', schema: asListOf(asPair) },
      NOISY: { help: 'noise', schema: asFlag },
      QUIET: { help: 'quiet', schema: asFlag, default: false },
    }),
  )
  const rows = settings.list().map(({ bundle, from, help, isSecret, name, value }) => {
    t.equal(bundle, 'library')
    return [name, value, from, isSecret, help]
  })
  t.strictSame(rows, [
    ['NAME', 'Ada', '.env.local', false, 'the name'],
    ['OWNER', '', 'default', false, 'the owner'],
    ['SIZE', 'x', 'environment', false, 'the size'],
    ['SHELVES', '1, 2', 'environment', false, 'the shelves'],
    ['KEY', '******', '.env', true, 'the key'],
    ['LICENCE', '', 'default', true, 'the licence'],
    ['PATHS', 'a=b', 'environment', false, 'the paths'],
    ['NOISY', 'on', 'environment', false, 'noise'],
    ['QUIET', 'off', 'default', false, 'quiet'],
  ])
})

t.test('unknown variables in .env files are reported with the nearest known name', async t => {
  const warnings: unknown[] = []
  const logger = { warning: (message: string, context: unknown) => warnings.push([message, context]) }
  const files = {
    APP_ENV: '.env',
    APP_HOST: '.env.local',
    EDITOR_URL: '.env',
    EMPTY: '.env',
    SHOE_SIZE: '.env.dev',
    PORT: '.env',
    app_env: '.env',
    PROFILER_SAMPLE: '.env',
    NODE_OPTIONS: '.env.dev',
  }
  const variables = {
    APP_ENV: 'dev',
    APP_HOST: 'a.org',
    EDITOR_URL: 'vscode',
    EMPTY: '',
    SHOE_SIZE: '9',
    app_env: 'dev',
    PATH: '/bin',
    PORT: '1',
    PROFILER: '1',
    PROFILER_URL: 'redis://127.0.0.1',
    PROFILER_SAMPLE: '1',
    NODE_OPTIONS: '--inspect',
  }
  const settings = new Settings({ variables, files, doubts: ['.env sets A again'] })
  settings.declare('kernel', defineSettings({ APP_ENV: { help: 'environment' }, APP_HOSTS: { help: 'hosts' } }))
  settings.allow(defineSettings({ EDITOR_URL: { help: 'editor' }, PROFILER_SAMPLE: { help: 'share' } }))
  warnOfUnknownSettings(settings, logger)
  const undeclared =
    ': declare it by defineSettings() in a bundle, and read it by settings.of(); process.env does not have it'
  const profiler =
    ': the profiler of an application needs APP_ENV=dev and debug; production has the access log and traces'
  const ofProcess = ': it is for the process, which does not get it from a file: set it in the environment'
  const message = '{place} sets {name}, but there is no setting of this name{suggestion}.'
  t.strictSame(warnings, [
    ['The file {doubt}.', { doubt: '.env sets A again' }],
    [message, { place: 'The file .env.local', name: 'APP_HOST', suggestion: '; the nearest is "APP_HOSTS"' }],
    [message, { place: 'The file .env.dev', name: 'SHOE_SIZE', suggestion: undeclared }],
    [message, { place: 'The file .env', name: 'app_env', suggestion: '; the nearest is "APP_ENV"' }],
    [message, { place: 'The file .env', name: 'PORT', suggestion: ': use the option --port of bin/serve' }],
    [message, { place: 'The environment', name: 'PROFILER', suggestion: profiler }],
    [message, { place: 'The environment', name: 'PROFILER_URL', suggestion: profiler }],
    [message, { place: 'The file .env.dev', name: 'NODE_OPTIONS', suggestion: ofProcess }],
  ])
})

/** What platforms and shells set, and what applications often read. */
const platformNames = `
  PATH HOME USER SHELL LANG LANGUAGE LC_ALL TERM PWD OLDPWD SHLVL LOGNAME MAIL EDITOR VISUAL PAGER TZ TMPDIR HOSTNAME DISPLAY COLORTERM
  LS_COLORS XDG_RUNTIME_DIR XDG_SESSION_ID SSH_AUTH_SOCK SSH_CONNECTION NO_COLOR FORCE_COLOR NODE_OPTIONS NODE_PATH NODE_VERSION YARN_VERSION
  NODE_EXTRA_CA_CERTS npm_config_loglevel npm_lifecycle_event npm_package_name INIT_CWD HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy
  PORT DYNO WEB_CONCURRENCY WEB_MEMORY HEROKU_APP_NAME HEROKU_APP_ID HEROKU_RELEASE_VERSION HEROKU_SLUG_COMMIT DATABASE_URL REDIS_TLS_URL
  RENDER RENDER_SERVICE_ID RENDER_EXTERNAL_URL RENDER_EXTERNAL_HOSTNAME RENDER_GIT_COMMIT FLY_APP_NAME FLY_REGION FLY_ALLOC_ID FLY_MACHINE_ID
  PRIMARY_REGION RAILWAY_ENVIRONMENT RAILWAY_PUBLIC_DOMAIN DATABASE_PUBLIC_URL PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE MYSQLHOST MYSQL_URL
  VERCEL VERCEL_ENV VERCEL_URL AWS_REGION AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_LAMBDA_LOG_GROUP_NAME ECS_AGENT_URI
  K_SERVICE K_REVISION K_CONFIGURATION GOOGLE_CLOUD_PROJECT GAE_ENV WEBSITE_SITE_NAME WEBSITES_PORT APP_UID APP_POOL_ID IISNODE_VERSION
  KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR REDIS_PORT
  REDIS_SERVICE_HOST REDIS_SERVICE_PORT REDIS_PORT_6379_TCP REDIS_PORT_6379_TCP_PROTO APP_PORT APP_SERVICE_HOST APP_SERVICE_PORT
  APP_PORT_80_TCP SESSION_PORT SESSION_SERVICE_HOST DEBUG_PORT PROFILER_PORT PROFILER_SERVICE_HOST SMTP_PORT SMTP_SERVICE_HOST POD_NAME POD_IP
  CI GITHUB_ACTIONS GITHUB_TOKEN GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_RUN_ID GITHUB_ENV GITHUB_PATH RUNNER_OS RUNNER_TEMP GITLAB_CI
  CI_COMMIT_SHA CI_JOB_ID BUILD_NUMBER JENKINS_URL INVOCATION_ID JOURNAL_STREAM LISTEN_FDS LISTEN_PID NOTIFY_SOCKET WATCHDOG_USEC
  SYSTEMD_EXEC_PID RUNTIME_DIRECTORY STATE_DIRECTORY CREDENTIALS_DIRECTORY DOCKER_HOST DOCKER_BUILDKIT container APP_NAME APP_KEY
  APP_VERSION APP_HOME APP_DIR APP_ROOT DEBUG LOGLEVEL LOG_FILE LOG_FORMAT OTEL_SERVICE_VERSION OTEL_LOG_LEVEL OTEL_METRICS_EXPORTER
  OTEL_EXPORTER_OTLP_LOGS_ENDPOINT OTEL_EXPORTER_OTLP_METRICS_ENDPOINT OTEL_PROPAGATORS S3_REGION SENTRY_DSN PM2_HOME pm_id NODE_APP_INSTANCE`

t.test('of the variables of the process, only those with nearly the name of a missing setting are named', async t => {
  const names = `PROFILER_SAMPLE PROFILER_URL PROFILER_ONLY_ERRORS EDITOR_URL EDITOR_PATHS SESSION_URL ACCESS_LOG ACCEL_REDIRECT
    OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_ENDPOINT OTEL_EXPORTER_OTLP_TRACES_ENDPOINT OTEL_TRACES_SAMPLER
    REDIS_URL REDIS_HOST MYSQL_HOST SMTP_HOST SMTP_USER S3_BUCKET S3_KEY PG_HOST SENTRY_URL PATHS HOST NAME USERS MAILS LANGS`
  const unknownOf = (variables: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) => {
    const settings = new Settings({ variables, files })
    readConfig(settings)
    const declared = Object.fromEntries(names.split(/\s+/).map(name => [name, { help: 'help', default: undefined }]))
    settings.declare('shop', defineSettings(declared))
    return settings.listUnknown().map(({ name, suggestion }) => name + suggestion)
  }
  const platform = platformNames.trim().split(/\s+/)
  t.ok(platform.length > 150)
  t.strictSame(unknownOf(Object.fromEntries(platform.map(name => [name, '1']))), [])
  const mistyped: Readonly<Record<string, string>> = {
    LOG_LEVL: 'LOG_LEVEL',
    LOG_LEVELS: 'LOG_LEVEL',
    LOG_LEVLE: 'LOG_LEVEL',
    APP_EVN: 'APP_ENV',
    APP_SECERT: 'APP_SECRET',
    APP_HOST: 'APP_HOSTS',
    APP_DEBUGS: 'APP_DEBUG',
    TRUSTED_PROXYES: 'TRUSTED_PROXIES',
    TRUSTED_PROXY: 'TRUSTED_PROXIES',
    TRUSTED_HEADER: 'TRUSTED_HEADERS',
    DEBUG_KEYS: 'DEBUG_KEY',
    NODE_EVN: 'NODE_ENV',
    PROFILER_SAMPL: 'PROFILER_SAMPLE',
    SESION_URL: 'SESSION_URL',
    OTEL_SERVICE_NMAE: 'OTEL_SERVICE_NAME',
    REDIS_URI: 'REDIS_URL',
  }
  t.strictSame(
    Object.keys(mistyped).flatMap(name => unknownOf({ [name]: 'x' })),
    Object.entries(mistyped).map(([name, right]) => `${name}; the nearest is "${right}"`),
  )
  t.strictSame(
    unknownOf({ LOG_LEVL: 'info', LOG_LEVEL: 'error', REDIS_URI: '' }),
    [],
    'the setting is set, or the variable is empty',
  )
  t.strictSame(
    unknownOf({ APP_SECERT: 'x', APP_SECRET: 'shipped' }, { APP_SECRET: '.env' }),
    ['APP_SECERT; the nearest is "APP_SECRET"'],
    'the setting of a file would be overridden',
  )
  const tracing = new Settings({ variables: { OTEL_SERVICE_NMAE: 'x' } })
  tracing.allow(defineSettings({ OTEL_SERVICE_NAME: { help: 'help', default: undefined } }))
  t.equal(tracing.listUnknown()[0]?.suggestion, '; the nearest is "OTEL_SERVICE_NAME"', 'the part is not used')
})
