import { type Application, type Bundle, HttpError } from 'sinfonietta'
import { CommandUsageError, type ConsoleCommand, exitCodes } from 'sinfonietta/console'
import { t } from 'tap'
import { consoleProgram, executeConsole } from '#tests/support/execute-console.ts'
import { type RunInit, runInTerminal } from '#tests/support/fake-terminal.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const seen: unknown[] = []

const commands: readonly ConsoleCommand[] = [
  {
    name: 'demo:greet',
    description: 'Greets a person',
    arguments: [
      {
        name: 'name',
        description: 'the name',
        suggest: () => [
          ['Ada', 'the first'],
          ['Alan', 'the\nsecond'],
        ],
      },
      { name: 'tone', description: 'how', isOptional: true, choices: ['loud', 'low'] },
    ],
    options: [
      { name: 'times', value: 'number', description: 'how often' },
      { name: 'very-polite', description: 'even more' },
      { name: 'language', value: 'name', choices: ['en', 'de'], description: 'the language' },
      { name: 'place', value: 'name', description: 'where', suggest: async () => [['London', '']] },
    ],
    examples: [{ line: 'demo:greet Ada', purpose: 'greets Ada' }],
    async run({ arguments: words, options }, output) {
      seen.push({ words, options })
      output.print({ blocks: [{ kind: 'text', text: `Hello, ${words.name}!`, tone: 'ok' }], json: { words, options } })
      return exitCodes.success
    },
  },
  {
    name: 'demo:fail',
    description: 'Fails',
    arguments: [{ name: 'how', description: 'how' }],
    run({ arguments: { how } }) {
      if (how === 'usage') throw new CommandUsageError('That is not how.')
      if (how === 'foreseen') throw new HttpError(500, 'It was foreseen.')
      if (how === 'unforeseen') throw new TypeError('Unforeseen.')
      return exitCodes.failure
    },
  },
  {
    name: 'demo:ask',
    description: 'Asks',
    async run({ confirm }, output) {
      const isWanted = await confirm('Really?')
      output.print({ blocks: [{ kind: 'text', text: String(isWanted) }], json: isWanted })
      return exitCodes.success
    },
  },
]

const demoBundle: Bundle = {
  name: 'demo',
  register(app) {
    app.commands.push(...commands)
    app.logger.info('Not of interest.')
    app.logger.warning('Of interest.')
  },
}

function raise(thrown: unknown): never {
  throw thrown
}

const run = (line: string | readonly string[], init: RunInit = {}) =>
  runInTerminal(line, { load: async () => [demoBundle], ...init })

t.test('a command gets its arguments and options by their names', async t => {
  const { code, stdout } = await run('demo:greet Ada loud --times 3 --very-polite --language=de')
  t.equal(code, 0)
  t.equal(stdout, 'Hello, Ada!\n')
  t.strictSame(seen.pop(), {
    words: { name: 'Ada', tone: 'loud' },
    options: { times: '3', 'very-polite': '', language: 'de' },
  })
  await run(['demo:greet', '--', '-dashed'])
  t.strictSame(seen.pop(), { words: { name: '-dashed' }, options: {} })
})

t.test('results are printed as text, JSON or Markdown, in colours only on a terminal', async t => {
  t.equal((await run('demo:greet *Ada* --md')).stdout, 'Hello, \\*Ada\\*!\n')
  t.strictSame(JSON.parse((await run('demo:greet Ada --json')).stdout), {
    words: { name: 'Ada' },
    options: { json: '' },
  })
  t.equal((await run('demo:greet Ada', { width: 80 })).stdout, '\u001b[32mHello, Ada!\u001b[39m\n')
  t.equal((await run('demo:greet Ada', { width: 80, env: { NO_COLOR: '1' } })).stdout, 'Hello, Ada!\n')
})

t.test('warnings in the log go to stderr', async t => {
  const { stderr, stdout } = await run('demo:greet Ada')
  t.match(stderr, 'Of interest.')
  t.notMatch(stderr + stdout, 'Not of interest.')
})

t.test('the log of a command is JSON in production, as that of the server', async t => {
  const env = { APP_ENV: 'prod', APP_SECRET: 'one that is long enough for production, for once' }
  const { code, stderr } = await run('demo:greet Ada', { env })
  t.equal(code, 0, stderr)
  t.match(JSON.parse(stderr), { level: 'warning', channel: 'app', message: 'Of interest.' })
})

t.test('without debug, a command of the profiler says what it needs', async t => {
  const env = { APP_ENV: 'prod', APP_SECRET: 'one that is long enough for production, for once' }
  const { code, stderr } = await run('profiler:list', { env })
  t.equal(code, 64)
  t.match(stderr, "error: unknown command 'profiler:list'\n(profiler:list needs APP_ENV=dev and debug.)")
})

t.test('a mistake in the command line is named, with exit code 64', async t => {
  const cases: [line: string, message: string][] = [
    ['demo:great Ada', "error: unknown command 'demo:great'\n(Did you mean demo:greet?)"],
    ['demo:x', '(There are demo:greet, '],
    ['gree:list', '(There is demo:greet.)'],
    ['cache:clear', '(There is no cache of sources: each start reads them.)'],
    ['db:migrate', '(No bundle has a command for the database: '],
    ['doctrine:migrations:migrate', '(No bundle has a command for the database: '],
    ['db:greet', '(There is demo:greet.)'],
    ['test', '(The tests are no command: npm test runs them.)'],
    ['nope', "error: unknown command 'nope'\n(bin/console lists all commands.)"],
    ['server:start', '(The server is no command: npm start runs bin/serve.)'],
    ['demo:greet', "error: missing required argument 'name'"],
    [
      'demo:greet Ada quiet',
      "command-argument value 'quiet' is invalid for argument 'tone'. Allowed choices are loud, low.",
    ],
    [
      'demo:greet Ada loud times=5 language:en',
      "error: too many arguments for 'demo:greet'. Expected 2 arguments but got 4.\n(Write --times 5 --language en.)",
    ],
    ['demo:greet Ada loud more', "error: too many arguments for 'demo:greet'. Expected 2 arguments but got 3."],
    [
      'demo:greet Ada --tmies 3',
      `error: unknown option '--tmies'\n(There is no option --tmies; the nearest is "--times".)`,
    ],
    ['demo:greet Ada --language fr', "argument 'fr' is invalid. Allowed choices are en, de."],
    ['demo:greet Ada --json --md', "option '--json' cannot be used with option '--md'"],
    ['demo:fail usage', 'That is not how.'],
    ['demo:greet Ada --env=production', '--env must be one of dev, prod, test, not "production": write --env prod.'],
    ['demo:greet Ada --env=local', '--env must be one of dev, prod, test, not "local".'],
  ]
  for (const [line, message] of cases) {
    const { code, stderr, stdout } = await run(line)
    t.equal(code, 64, line)
    t.ok(stderr.includes(message), stderr)
    t.equal(stdout, '')
  }
})

t.test('a command of another framework leads to those with a word of it', async t => {
  const cases: readonly (readonly [word: string, message: string])[] = [
    ['routes', '(There are debug:routes, debug:route-match.)'],
    ['debug:router', '(Did you mean debug:routes?)'],
    ['route:list', '(There are debug:routes, debug:route-match, profiler:list.)'],
    ['make:controller', '(There are make:bundle, make:page.)'],
    ['generate:controller', '(There are make:bundle, make:page.)'],
    ['db:migrate', '(There is database:migrate.)'],
    ['doctrine:migrations:migrate', '(There is database:migrate.)'],
    ['events', '(There is debug:events.)'],
    ['debug:container', '(There are debug:routes, debug:route-match, debug:events.)'],
    ['about', '(bin/console lists all commands.)'],
  ]
  const names = 'debug:routes debug:route-match debug:events make:bundle make:page database:migrate profiler:list'
  const shop: Bundle = {
    name: 'shop',
    register: ({ commands }) =>
      void commands.push(...names.split(' ').map(name => ({ name, description: name, run: () => exitCodes.success }))),
  }
  const offences: string[] = []
  for (const [word, message] of cases) {
    const { stderr } = await run(word, { load: async () => [shop] })
    if (!stderr.includes(message)) offences.push(stderr)
  }
  t.strictSame(offences, [])
})

t.test('the reason why a command fails is printed, with exit code 1', async t => {
  t.equal((await run('demo:fail quietly')).code, 1)
  const foreseen = await run('demo:fail foreseen')
  t.equal(foreseen.code, 1)
  t.match(foreseen.stderr, /^It was foreseen\.$/m)
  const unforeseen = await run('demo:fail unforeseen')
  t.equal(unforeseen.code, 1)
  t.match(unforeseen.stderr, /TypeError: Unforeseen\.\n +at /)
  const config = await run('demo:greet Ada --env prod')
  t.equal(config.code, 1)
  t.match(config.stderr, 'The configuration has mistakes:')
  t.equal((await run('demo:greet Ada --env')).code, 64)
})

t.test('the exit code of a command is its result, else that of the process, else 0', async t => {
  const exitIn = (code: unknown) => {
    process.exitCode = code as number
  }
  const commands: Readonly<Record<string, readonly [run: () => unknown, code: number, stderr?: string]>> = {
    'nothing is returned': [() => undefined, 0],
    'a promise of nothing': [async () => {}, 0],
    'a failure': [() => 1, 1],
    'a promise of another code': [async () => 75, 75],
    'process.exitCode': [() => exitIn(3), 3],
    'process.exitCode after a wait': [async () => exitIn(await new Promise(resolve => setImmediate(resolve, 4))), 4],
    'process.exitCode as a text': [() => exitIn('5'), 5],
    'process.exitCode, and a result': [() => [exitIn(3), 0][1], 0],
    'an error after process.exitCode': [() => [exitIn(3), raise(new Error('broken'))], 1, 'Error: broken'],
    'a rejection': [() => Promise.reject(new Error('refused')), 1, 'Error: refused'],
    'a thrown text': [() => raise('no error'), 1, "'no error'"],
    'a thrown nothing': [() => raise(undefined), 1, 'undefined'],
    'a text': [
      () => 'x',
      1,
      'The command "demo:exit": run() returns an exit code from 0 to 255, such as exitCodes.success, not a str',
    ],
    'a promise of a flag': [async () => true, 1, 'not a boolean'],
    'a number that the system would shorten to 0': [() => 256, 1, 'not 256'],
    'a negative number': [() => -1, 1, 'not -1'],
    'a part of a number': [() => 0.5, 1, 'not 0.5'],
  }
  const { exitCode } = process
  for (const [title, [runs, code, message = '']] of Object.entries(commands)) {
    const command = { name: 'demo:exit', description: 'Exits', run: runs as ConsoleCommand['run'] }
    const load = async () => [{ name: 'demo', register: (app: Application) => void app.commands.push(command) }]
    const ended = await run('demo:exit', { load })
    t.strictSame([ended.code, ended.stderr.includes(message)], [code, true], `${title}: ${ended.stderr}`)
    if (message === '') t.equal(ended.stderr, '', title)
    t.equal(process.exitCode, exitCode, title)
  }
})

t.test('an interrupted command that ends by itself decides on its exit code', async t => {
  const interrupt = new AbortController()
  const commands: Readonly<Record<string, readonly [ConsoleCommand['run'], number]>> = {
    'it returns': [async () => undefined, 0],
    'it fails': [async () => exitCodes.failure, 1],
    'it throws': [({ signal }) => raise(signal.reason), 130],
  }
  interrupt.abort()
  for (const [title, [run, code]] of Object.entries(commands)) {
    const command = { name: 'demo:exit', description: 'Exits', run }
    const load = async () => [{ name: 'demo', register: (app: Application) => void app.commands.push(command) }]
    t.equal((await runInTerminal('demo:exit', { load, signal: interrupt.signal })).code, code, title)
  }
})

t.test('two commands of one name are an error that names both', async t => {
  const twice = {
    ...demoBundle,
    register: ({ commands: list }: Application) => void list.push(...commands, ...commands),
  }
  const { code, stderr } = await run('demo:greet Ada', { load: async () => [twice] })
  t.equal(code, 1)
  t.equal(stderr, 'Two commands are named "demo:greet": "Greets a person" and "Greets a person". Rename one of them.\n')
})

t.test('help lists the commands by areas and describes each command', async t => {
  const all = await run('')
  t.equal(all.code, 0)
  t.match(
    all.stdout,
    /^Usage: bin\/console [\s\S]+\n\nconsole:\n {2}completion +Prints [\s\S]+\n\ndemo:\n {2}demo:ask +Asks\.\n/,
  )
  t.equal((await run('--help')).stdout, all.stdout)
  const area = await run('demo')
  t.equal(area.code, 64)
  t.match(area.stderr, /demo:greet/)
  t.notMatch(area.stderr, /completion/)
  const one = await run('demo:greet --help')
  t.equal(one.code, 0)
  t.match(
    one.stdout,
    /Greets a person\.[\s\S]+--times <number> +how often[\s\S]+bin\/console demo:greet Ada\n +greets Ada/,
  )
  t.match((await run('--help', { width: 40 })).stdout, '\u001b[1mUsage:\u001b[22m')
  t.match((await run('--version')).stdout, /^\d+\.\d+\.\d+\n$/)
  t.match((await run('--env test --help')).stdout, 'in the environment "test"')
})

t.test('a question is asked only in a terminal', async t => {
  for (const [answer, said] of [
    ['y\n', 'true'],
    ['YES\n', 'true'],
    ['n\n', 'false'],
    ['\n', 'false'],
    ['', 'false'],
  ] as const) {
    const { stderr, stdout } = await run('demo:ask', { answer })
    t.equal(stdout, `${said}\n`)
    t.match(stderr, 'Really? [y/N] ')
  }
  const { code, stderr } = await run('demo:ask')
  t.equal(code, 64)
  t.match(stderr, 'Really? There is no terminal to answer this: add --yes.')
  t.equal((await run('demo:ask', { answer: '', signal: AbortSignal.abort() })).code, 130, 'Ctrl-C')
})

t.test('shells complete command lines', async t => {
  const complete = async (line: string) => {
    const { stdout } = await run(['__complete', ...line.split(' ')])
    return stdout.split('\n').slice(0, -1)
  }
  t.strictSame(await complete('demo:'), ['demo:greet\tGreets a person', 'demo:fail\tFails', 'demo:ask\tAsks'])
  t.strictSame(await complete('demo:greet '), ['Ada\tthe first', 'Alan\tthe second'])
  t.strictSame(await complete('demo:greet Ad'), ['Ada\tthe first'])
  t.strictSame(await complete('demo:greet --times 3 --very-polite Ada '), ['loud\t', 'low\t'])
  t.strictSame(await complete('demo:greet --language '), ['en\t', 'de\t'])
  t.strictSame(await complete('demo:greet --place L'), ['London\t'])
  t.strictSame(await complete('demo:greet --times '), [])
  t.strictSame(await complete('demo:greet --l'), ['--language\tthe language'])
  t.strictSame(await complete('demo:greet Ada loud '), [])
  t.strictSame(await complete('demo:ask --env t'), ['test\t'])
  t.strictSame(await complete('demo:ask --j'), ['--json\tprints the result as JSON'])
  t.strictSame(await complete('nope '), [])
  t.ok((await run(['__complete'])).stdout.includes('demo:ask'))
  t.match((await run('completion bash')).stdout, 'complete -o default -F')
  t.match((await run('completion zsh')).stdout, /^#compdef/)
})

// console.proof.test.ts has more of the console as a program: sources that do not compile, completion in bash.
t.test('the executable builds, runs and ends', async t => {
  const { ended, printed } = executeConsole(t, 'debug:routes partnership --json')
  t.strictSame(await ended, [0, null])
  t.equal(JSON.parse(printed.stdout).path, '/partnership')
  t.equal(printed.stderr, '')
})

t.test('a command that can never end says so', async t => {
  const command = "{ name: 'shop:wait', description: 'Waits', run: () => new Promise(() => {}) }"
  const bundles = `export const createBundles = () => [
    { name: 'shop', register: ({ commands }) => void commands.push(${command}) },
  ]`
  const directory = t.testdir({
    'package.json': '{"type":"module"}',
    bundles: { 'index.ts': bundles },
    dist: { bundles: { 'index.js': bundles } },
  })
  const program = `import { runConsoleProcess } from '#bin/commands/console.ts'; await runConsoleProcess('${directory}', ['shop:wait'])`
  const { code, stderr } = await runProcess(t, [process.execPath, '--input-type=module', '-e', program])
  t.equal(code, 1)
  t.match(stderr, /^The command "shop:wait" waits for a promise, but no timer, .* is left/m)
})

t.test('a reader that closes the pipe is no failure', async t => {
  const { ended, printed } = executeConsole(t, 'debug:routes --json; echo $? >&2; } | head -c 1', {
    shell: `{ ${consoleProgram}`,
  })
  await ended
  t.equal(printed.stdout.length, 1)
  t.equal(printed.stderr, '0\n')
})

t.test('a closed stderr changes nothing', async t => {
  const { child, ended } = executeConsole(t, 'debug:rout')
  child.stderr?.destroy()
  t.strictSame(await ended, [64, null])
})

t.test('Ctrl-C ends a command that follows new profiles', async t => {
  const { child, ended, printed } = executeConsole(t, 'profiler:list --follow')
  await until(() => printed.stdout.includes('Status') || child.exitCode !== null)
  child.kill('SIGINT')
  t.strictSame(await ended, [0, null])
})
