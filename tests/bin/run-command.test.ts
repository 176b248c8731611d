import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { CommandUsageError, type ConsoleCommand, exitCodes } from 'sinfonietta/console'
import { createTestKernel, runCommand } from 'sinfonietta/testing'
import { t } from 'tap'

const sum: ConsoleCommand = {
  name: 'numbers:sum',
  description: 'Adds two numbers',
  arguments: [
    { name: 'first', description: 'a number' },
    { name: 'second', description: 'a number' },
  ],
  options: [{ name: 'yes', description: 'adds without a question' }],
  async run({ arguments: { first, second }, confirm, options }, output) {
    if (options.yes === undefined) await confirm('Add them?')
    const result = Number(first) + Number(second)
    if (Number.isNaN(result)) throw new CommandUsageError('These are no numbers.')
    if (!Number.isFinite(result)) throw new RangeError('The sum is endless.')
    output.print({ blocks: [{ kind: 'text', text: String(result) }], json: result })
    return result === 0 ? exitCodes.failure : exitCodes.success
  },
}

const numbers: Bundle = {
  name: 'numbers',
  register({ commands }) {
    commands.push(async () => [sum])
  },
}

t.test('a command without a result ends with 0, or with process.exitCode, which stays that of the test', async t => {
  const { exitCode } = process
  const commands: readonly ConsoleCommand[] = [
    { name: 'demo:done', description: 'Does it', async run() {} },
    {
      name: 'demo:half',
      description: 'Does a half',
      run() {
        process.exitCode = 3
        return undefined
      },
    },
  ]
  const demo: Bundle = { name: 'demo', register: app => void app.commands.push(...commands) }
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle(), demo] })
  t.teardown(close)
  t.strictSame(await runCommand(app, 'demo:done'), { code: 0, output: '', errors: '' })
  t.equal((await runCommand(app, 'demo:half')).code, 3)
  t.equal(process.exitCode, exitCode)
})

t.test('a command runs in a test kernel', async t => {
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle(), numbers] })
  t.teardown(close)
  const run = (...words: string[]) => runCommand(app, 'numbers:sum', words)
  t.strictSame(await run('1', '2', '--yes'), { code: 0, output: '3\n', errors: '' })
  t.strictSame(await run('1', '2', '--yes', '--json'), { code: 0, output: '3\n', errors: '' })
  t.match(await run('0', '0', '--yes'), { code: exitCodes.failure, output: '0\n' })
  t.strictSame(await run('one', '2', '--yes'), { code: exitCodes.usage, output: '', errors: 'These are no numbers.\n' })
  t.match(await run('1', '2'), { code: exitCodes.usage, errors: 'Add them? There is no terminal to answer this' })
  t.match(await run('1'), { code: exitCodes.usage, errors: "missing required argument 'second'" })
  t.match(await run('Infinity', '1', '--yes'), { code: exitCodes.failure, errors: 'RangeError: The sum is endless.' })
  t.match(await runCommand(app, 'numbers:sun'), { code: exitCodes.usage, errors: "unknown command 'numbers:sun'" })
  t.match(await runCommand(app, 'debug:events'), { code: 0, output: 'kernel.request' })
})

t.test('a mistyped option or argument of a command, and a text for a document, are errors', async t => {
  const commands: readonly ConsoleCommand[] = [
    { ...sum, name: 'a:option', run: ({ options }) => Number(options.yse) as 0 },
    { ...sum, name: 'a:argument', run: input => Number(input.arguments.fisrt) as 0 },
    { ...sum, name: 'a:text', run: (_input, output) => output.print('done' as never) as undefined },
  ]
  const bundle: Bundle = { name: 'a', register: app => void app.commands.push(...commands) }
  const { app, close } = await createTestKernel({ bundles: [createFrameworkBundle(), bundle] })
  t.teardown(close)
  const said = await Promise.all(commands.map(({ name }) => runCommand(app, name, ['1', '2'])))
  t.match(said, [
    { code: 1, errors: /declares no option "yse"; the nearest is "yes"/ },
    { code: 1, errors: /declares no argument "fisrt"; the nearest is "first"/ },
    { code: 1, errors: /print\(document\): it takes a document/ },
  ])
})
