import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import path from 'node:path'
import { serve } from 'sinfonietta/server'
import { t } from 'tap'
import { copyProgram } from '#tests/support/copy-program.ts'

t.test('sinfonietta profile names the nearest file, quotes around arguments, and the place of options', t => {
  const directory = t.testdir({ 'app.js': '' })
  const program = copyProgram(directory)
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [program, 'profile', ...words], { cwd: directory, encoding: 'utf8' })
  t.match(run('ap.js'), { status: 1, stderr: /program "ap\.js" to profile: .*; the nearest is "app\.js"\.\n$/ })
  t.match(run('app.js --port 1'), { status: 1, stderr: /without quotes around them\.\n$/ })
  t.match(run('node app.js'), { status: 1, stderr: /without quotes around them\.\n$/ })
  t.match(run('gone/app.js'), {
    status: 1,
    stderr: /program "gone\/app\.js" to profile: .*; name the file that node starts, such as app\.js, or /,
  })
  t.match(run('--prt', '1', 'app.js'), {
    status: 9,
    stderr: /\nIf Node.js has refused an option: those of the program/,
  })
  t.notMatch(run('app.js').stderr, 'Options of the program')
  t.end()
})

t.test('sinfonietta names a folder, a program without a command, and words that a command does not take', t => {
  const scripts = {
    small: 'NODE_OPTIONS=--no-warnings node app.js',
    right: 'NODE_OPTIONS="$NODE_OPTIONS --no-warnings" node app.js',
    up: 'docker compose up',
    other: 'echo python',
    inner: 'node app.js',
    both: 'docker compose up -d && node app.js',
    behind: 'sudo npx sinfonietta profile app.js',
    passed: 'docker run -e NODE_OPTIONS shop',
  }
  const directory = t.testdir({
    'app.js': '',
    'app.ts': 'const a: number = 1',
    'start.sh': '#!/bin/sh\nnode app.js',
    start: '#!/bin/sh\necho "started $0"',
    'package.json': JSON.stringify({ scripts }),
    folder: {},
  })
  chmodSync(path.join(directory, 'start'), 0o755)
  const program = copyProgram(directory)
  const offences = Object.entries({
    'profile folder': 'this is a folder without an index.js: name the file that node starts.\n',
    'profile PROFILER_PORT=0 app.js':
      'variables come before the command: PROFILER_PORT=0 sinfonietta profile app.js.\n',
    'profile app.js PROFILER_PORT=0':
      'PROFILER_PORT=0 is an argument of the program. Variables come before the command',
    'profile package.json': 'it is no file of JavaScript that node starts, and no program',
    'profile ./start.sh': 'chmod +x makes one of a script, which begins with ./.\n',
    'profile npm run small': 'The script "small" of package.json replaces NODE_OPTIONS, which has the profiler',
    'profile yarn up': 'The script "up" of package.json passes on no variables by default',
    'profile sudo node app.js': '"sudo" passes on no variables by default, and without them nothing is profiled.',
    'profile env -i node app.js': '"env" passes on no variables by default',
    'app.js': '"app.js" is no command. To profile a program: sinfonietta profile app.js\n',
    'view gone': '"gone" is no folder: name that of a program',
    'view http://127.0.0.1:8100/_profiler/': 'or for view a Redis such as redis://127.0.0.1:6379.\n',
    'view redis://127.0.0.1/shop': '"redis://127.0.0.1/shop" is not a URL such as redis://host:6379',
    'view ': 'view takes folders, or one URL of Redis: sinfonietta view ../shop\n',
    'mcp ': 'mcp takes at most one folder',
    'profile ': 'profile needs a file or a program: sinfonietta profile app.js\n',
    'new ': 'new takes one folder: sinfonietta new my-site\n',
    'new shop --name x': 'There is no option --name.\n',
    'new shop --test tap': 'There is no option --test; the nearest is "--tests".\n',
    'new shop --tests ': 'The value of --tests is empty.\n',
    'view --port 9000': 'There is no option --port: set the variable PROFILER_PORT.\n',
    'mcp gone': '"gone" is no folder: name that of a program',
    'mcp --in-production': 'There is no option --in-production: set the variable PROFILER_IN_PRODUCTION.\n',
    'mcp one two': 'mcp takes at most one folder: sinfonietta mcp ../shop\n',
    'new My shop': 'new takes one folder: sinfonietta new my-site\n',
    new: 'new takes one folder: sinfonietta new my-site\n',
    profile: 'profile needs a file or a program: sinfonietta profile app.js\n',
    'new shop --lgin': 'There is no option --lgin; the nearest is "--login".\n',
    // Later versions run it.
    ...(process.version < 'v22' && { 'profile app.ts': 'does not run TypeScript: compile the file, use a loader' }),
  }).flatMap(([line, message]) => {
    const { stderr } = spawnSync(process.execPath, [program, ...line.split(' ')], { cwd: directory, encoding: 'utf8' })
    return stderr.includes(message) ? [] : [`${line}: ${stderr}`]
  })
  t.strictSame(offences, [])
  const run = (...words: string[]) =>
    spawnSync(process.execPath, [program, 'profile', ...words], { cwd: directory, encoding: 'utf8' })
  for (const name of ['right', 'both', 'behind', 'passed']) t.notMatch(run('yarn', name).stderr, 'package.json')
  t.match(run('./start').stdout, 'started ./start', 'a program of another language that starts node')
  const nothing = (...words: string[]) =>
    [...run(...words).stderr.matchAll(/^Nothing is profiled: "(\w+)" has /gm)].map(([, name]) => name)
  t.strictSame(nothing('sh', '-c', 'exit 2'), ['sh'])
  t.strictSame(nothing('npm', 'run', 'other'), ['npm'])
  t.strictSame(nothing('npm', 'run', 'inner'), [], 'npm that starts node')
  t.strictSame(nothing('sh', '-c', 'node app.js; kill $$'), [])
  t.strictSame(nothing('sh', '-c', 'NODE_ENV=production node app.js'), [], 'the program has given its reason')
  t.strictSame(nothing('env', '-i', 'true'), [], 'the reason is known at the start')
  t.end()
})

t.test('the variables of hosts and tools are not taken for mistyped settings', t => {
  const directory = t.testdir({ 'app.js': '' })
  const names = {
    Heroku:
      'DYNO DYNO_RAM WEB_CONCURRENCY WEB_MEMORY HEROKU_APP_NAME HEROKU_SLUG_COMMIT REDIS_URL REDIS_TLS_URL DATABASE_URL',
    Vercel:
      'VERCEL VERCEL_ENV VERCEL_URL VERCEL_REGION VERCEL_GIT_COMMIT_SHA VERCEL_DEPLOYMENT_ID NOW_REGION AWS_REGION',
    Netlify: 'NETLIFY SITE_ID SITE_NAME URL DEPLOY_URL DEPLOY_PRIME_URL CONTEXT BRANCH HEAD COMMIT_REF BUILD_ID',
    Fly: 'FLY_APP_NAME FLY_REGION FLY_ALLOC_ID FLY_MACHINE_ID FLY_PUBLIC_IP FLY_PROCESS_GROUP PRIMARY_REGION',
    Render:
      'RENDER RENDER_SERVICE_ID RENDER_SERVICE_NAME RENDER_INSTANCE_ID RENDER_EXTERNAL_URL RENDER_GIT_COMMIT IS_PULL_REQUEST',
    Railway: 'RAILWAY_ENVIRONMENT RAILWAY_PUBLIC_DOMAIN RAILWAY_SERVICE_NAME RAILWAY_PROJECT_ID RAILWAY_REPLICA_ID',
    GitLab: 'CI GITLAB_CI CI_JOB_ID CI_COMMIT_SHA CI_PROJECT_DIR CI_SERVER_HOST CI_DEBUG_TRACE GITLAB_USER_LOGIN',
    GitHub: 'GITHUB_ACTIONS GITHUB_SHA GITHUB_REF GITHUB_WORKSPACE RUNNER_OS RUNNER_TEMP ACTIONS_CACHE_URL GITHUB_ENV',
    Kubernetes:
      'KUBERNETES_SERVICE_HOST KUBERNETES_PORT API_PORT API_PORT_80_TCP PROFILER_SERVICE_HOST PROFILER_PORT_80_TCP',
    systemd: 'INVOCATION_ID JOURNAL_STREAM LISTEN_FDS LISTEN_PID NOTIFY_SOCKET WATCHDOG_USEC MAINPID SYSTEMD_EXEC_PID',
    direnv: 'DIRENV_DIR DIRENV_FILE DIRENV_DIFF DIRENV_WATCHES IN_NIX_SHELL',
    asdf: 'ASDF_DIR ASDF_DATA_DIR ASDF_NODEJS_VERSION MISE_SHELL VOLTA_HOME FNM_DIR FNM_LOGLEVEL NVM_DIR NVM_BIN NVM_INC',
    npm: 'npm_config_user_agent npm_lifecycle_event npm_package_name npm_execpath npm_node_execpath INIT_CWD NODE COREPACK_ROOT',
    pnpm: 'PNPM_HOME PNPM_SCRIPT_SRC_DIR npm_config_registry YARN_IGNORE_PATH BERRY_BIN_FOLDER PROJECT_CWD YARN_WRAP_OUTPUT',
    Docker: 'HOSTNAME container DOCKER_HOST COMPOSE_PROJECT_NAME BUILDKIT_PROGRESS DOCKER_BUILDKIT',
    systems:
      'LANG LC_ALL TERM COLORTERM SHLVL LOGNAME USER SHELL PWD OLDPWD EDITOR XDG_RUNTIME_DIR SSH_AUTH_SOCK TZ APP_ENVIRONMENT APP_NAME APP_PORT APP_HOST LOG_LEVELS LOG_FORMAT NODE_APP NODE_VERSION NODE_EXTRA_CA',
  }
  const env = Object.fromEntries(
    Object.values(names).flatMap(each => each.split(' ').map(name => [name, '1'] as const)),
  )
  const { status, stderr } = spawnSync(process.execPath, [copyProgram(directory), 'profile', 'app.js'], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  t.notMatch(stderr, 'WARNING')
  t.match(stderr, 'Profiler: ')
  t.equal(status, 0)
  t.end()
})

t.test('the package that is preloaded in a wrong way names the right one', t => {
  const directory = t.testdir({
    'app.js': '',
    'app.cjs': "require('sinfonietta/profile')",
    node_modules: { sinfonietta: t.fixture('symlink', process.cwd()) },
  })
  const run = (words: readonly string[], NODE_OPTIONS = '') =>
    spawnSync(process.execPath, words, { cwd: directory, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS } })
  const right = /write --import sinfonietta\/profile instead of (?:-r|--import)[= ]sinfonietta\.\n/
  for (const words of [['--import', 'sinfonietta'], ['--import=sinfonietta'], ['-r', 'sinfonietta']])
    t.match(run([...words, 'app.js']), { status: 0, stderr: right })
  t.match(run(['app.js'], '--import sinfonietta'), { status: 0, stderr: right })
  t.match(run(['--import=sinfonietta/profiler', 'app.js']).stderr, 'instead of --import=sinfonietta/profiler.\n')
  const required = 'sinfonietta/profile cannot be required: write node --import sinfonietta/profile app.js'
  t.match(run(['--require', 'sinfonietta/profile', 'app.js']), { status: 1, stderr: required })
  t.match(run(['app.cjs']), { status: 1, stderr: required })
  t.notMatch(run(['--import', 'sinfonietta/profile', 'app.js']).stderr, 'write --import')
  t.end()
})

t.test('a program that imports the profiler last has its framework seen; what is seen less is named', t => {
  const packages = ['polka', 'pino', 'express4'].map(name => [
    name,
    t.fixture('symlink', path.resolve('node_modules', name)),
  ])
  const directory = t.testdir({
    'package.json': '{ "type": "module" }',
    'polka.js': `import polka from 'polka'
import 'sinfonietta/profile'
const app = polka()
app.get('/books/:id', (_, reply) => reply.end('book'))
app.listen(0, '127.0.0.1', async () => {
  await (await fetch('http://127.0.0.1:' + app.server.address().port + '/books/1')).text()
  const search = async () => (await (await fetch(process.env.PROFILER_VIEWER + '/_profiler/search.json')).json()).records
  while ((await search()).length === 0) await new Promise(setImmediate)
  for (const { summary } of await search()) console.log(summary.route)
  process.exit()
})`,
    'pino.js': "import 'pino'\nimport 'express4'\nimport 'sinfonietta/profile'",
    node_modules: { ...Object.fromEntries(packages), sinfonietta: t.fixture('symlink', process.cwd()) },
  })
  const { NODE_ENV: _, PROFILER_VIEWER: __, ...environment } = process.env
  const run = (...words: string[]) =>
    spawnSync(process.execPath, words, {
      cwd: directory,
      encoding: 'utf8',
      env: { ...environment, PROFILER_PORT: '0' },
    })
  const polka = run('polka.js')
  t.match(polka, { status: 0, stdout: 'GET /books/:id\n' })
  t.notMatch(polka.stderr, 'before the profiler')
  t.match(
    run('pino.js').stderr,
    'The program has loaded pino before the profiler, which sees less of it then: load it first',
  )
  t.notMatch(run('--import', 'sinfonietta/profile', 'pino.js').stderr, 'before the profiler')
  t.end()
})

t.test('variables that the profiler does not read are named, those of the application are not', t => {
  const directory = t.testdir({ 'app.js': '', node_modules: {} })
  const program = copyProgram(directory)
  const { NODE_ENV: _, ...environment } = process.env
  const linesOf = (variables: Readonly<Record<string, string>>) => {
    const env = { ...environment, PROFILER_PORT: '0', ...variables }
    const run = spawnSync(process.execPath, [program, 'profile', 'app.js'], { cwd: directory, encoding: 'utf8', env })
    return run.stderr.replace(/^[\d:.]+ /gm, '').replace(/^Profiler: .*\n/m, '')
  }
  const warning = (name: string, right: string) =>
    `WARNING  app  The variable ${name} has no effect on the profiler${right}.\n`
  t.equal(
    linesOf({ PROFILE_SAMPLE: '0.5', DEBUG_ALLOWED_IP: '10.0.0.1', PROFILER_TOOLBARS: '1', PROFILER_ENABLED: '0' }),
    [
      warning('PROFILE_SAMPLE', '; the nearest is "PROFILER_SAMPLE"'),
      warning('DEBUG_ALLOWED_IP', '; the nearest is "DEBUG_ALLOWED_IPS"'),
      warning('PROFILER_TOOLBARS', '; the nearest is "PROFILER_TOOLBAR"'),
      warning('PROFILER_ENABLED', ': "sinfonietta profile --help" lists the variables'),
    ].join(''),
  )
  const own = { PROFILE_URL: 'http://profile:3000', PROFILE_NAME: 'work', EDITOR: 'vim', DEBUG: '*', DEBUG_LEVEL: '2' }
  t.equal(linesOf({ ...own, PROFILER_ALONE: 'true', PROFILER_TOOLBAR: 'yes', PROFILER_SAMPLE: '0.5' }), '')
  t.equal(
    linesOf({ PROFILER_PORT: 'abc', PROFILER_TOOLBAR: 'maybe', PROFILER_URL: '127.0.0.1:6379' }),
    `Nothing is profiled: The configuration has mistakes:
  PROFILER_PORT "abc" is not an integer from 0 to 65535.
  PROFILER_TOOLBAR "maybe" is not a flag: 1, true, yes, on, or 0, false, no, off.
  PROFILER_URL is not a URL such as redis://host:6379 or redis://host:6379/1.
`,
  )
  t.match(linesOf({ NODE_ENV: 'prod' }), /^Nothing is profiled: NODE_ENV is prod\./)
  t.equal(linesOf({ NODE_ENV: 'production', PROFILER_IN_PRODUCTION: 'true' }), '')
  t.end()
})

t.test('the link of a key, variables that come too late, and pages without a toolbar are named', t => {
  const key = 'a-key-of-20-characters'
  const application = `process.env.PROFILER_NAME = 'late'
const { createServer } = require('node:http')
const server = createServer((_message, reply) => {
  reply.setHeader('content-type', 'text/html').setHeader('content-security-policy', "default-src 'none'")
  reply.end('<html><body>page</body></html>')
}).listen(0, '127.0.0.1', async () => {
  const url = 'http://127.0.0.1:' + server.address().port
  for (const _ of 'ab') await (await fetch(url, { headers: { 'x-debug-key': '${key}' } })).text()
  process.exit()
})`
  const directory = t.testdir({ 'app.cjs': application, node_modules: {} })
  const { NODE_ENV: _, ...environment } = process.env
  const { stderr } = spawnSync(process.execPath, [copyProgram(directory), 'profile', 'app.cjs'], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...environment, PROFILER_PORT: '0', PROFILER_TOOLBAR: '1', DEBUG_KEY: key },
  })
  const late = 'The program itself has set PROFILER_NAME, after the profiler has started'
  const policy =
    "Pages have no toolbar: their Content-Security-Policy does not allow 'self' as script-src and connect-src."
  const times = (text: string) => stderr.split(text).length - 1
  t.match(
    stderr,
    /^Profiler: (\S+)\/_profiler\/\nOpen this once in your browser: \1\/_debug\?key=a-key-of-20-characters\n/,
  )
  t.strictSame([times(late), times(policy)], [1, 1])
  t.end()
})

t.test('the port of a program of its own is no option of serve()', async t => {
  const withPort = { bundles: [], port: 3000 }
  await t.rejects(serve(withPort), {
    code: 'ARGUMENT_INVALID',
    message: '--port and --host are options of the command line',
  })
  await t.rejects(Reflect.apply(serve, undefined, [{ bundles: [] }, 3000]), {
    code: 'ARGUMENT_INVALID',
    message: 'serve(): it takes one argument: the port is the option --port',
  })
})

t.test('a development server says where the application has ended the process', t => {
  const program = (when: string) => `import { serve } from 'sinfonietta/server'
const shop = {
  name: 'shop',
  register({ signals }) {
    ${when}
  },
}
await serve({ bundles: [shop] })
`
  const directory = t.testdir({
    'package.json': '{ "type": "module" }',
    node_modules: { sinfonietta: t.fixture('symlink', process.cwd()) },
    'early.js': program('process.exit(3)'),
    'late.js': program("signals.on('server.listening', () => process.exit(3))"),
    'async.js': program(`signals.on('server.draining', () => new Promise(() => {}))
    signals.on('server.listening', () => process.kill(process.pid, 'SIGTERM'))`),
    'right.js': program(
      "signals.on('server.draining', async () => 1); signals.on('server.listening', () => process.kill(process.pid, 'SIGTERM'))",
    ),
  })
  const run = (file: string) => {
    const env = { ...process.env, APP_ENV: 'dev', APP_SECRET: 'a secret of thirty-two characters' }
    return spawnSync(process.execPath, [path.join(directory, file), '--port=0'], { env, encoding: 'utf8' })
  }
  t.match(run('early.js'), { status: 3, stderr: 'process.exit() was called in early.js:5: throw an error instead' })
  t.match(run('late.js'), { status: 3, stderr: 'process.exit() was called in late.js:5: throw an error instead' })
  t.match(run('async.js'), { status: 0, stderr: 'A handler of the bundle "shop" for "server.draining" has not ended' })
  t.match(run('right.js'), { status: 0, stderr: /^(?![\s\S]*(?:process\.exit|has not ended))/ })
  t.end()
})
