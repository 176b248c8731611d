import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { SpanFiles } from '#bundles/profiler/store/file-profile-storage.ts'
import { createReceivedSpan, spanIdOf, traceId } from '#tests/support/otlp.ts'
import { runProcess } from '#tests/support/start-process.ts'

function open(t: Test, sizeLimit?: number) {
  const directory = path.join(t.testdir(), 'spans')
  const problems: string[] = []
  const create = () =>
    new SpanFiles({ directory, onProblem: message => problems.push(message), ...(sizeLimit && { sizeLimit }) })
  return { create, directory, problems, file: path.join(directory, 'spans.jsonl') }
}

t.test('another process, and one after a restart, find the spans', async t => {
  const { create, file, problems } = open(t)
  const spans = create()
  t.strictSame(await spans.find(traceId), [])
  const other = 'bb112233445566778899aabbccddeeff'
  const one = createReceivedSpan({ name: `a trace id in a name: ${other} {` })
  const two = createReceivedSpan({ traceId: other, spanId: spanIdOf(2) })
  t.equal(await spans.append([one, two]), true)
  t.strictSame(await create().find(traceId), [one])
  t.strictSame(await create().find(other), [two])
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.strictSame(problems, [])
})

t.test('a full file replaces the older one, so that the newest spans stay', async t => {
  const { create, directory } = open(t, 2000)
  const spans = create()
  await Promise.all(Array.from({ length: 30 }, (_, at) => spans.append([createReceivedSpan({ spanId: spanIdOf(at) })])))
  const found = (await spans.find(traceId)).map(({ spanId }) => spanId)
  t.ok(found.length >= 5 && found.length < 25, `${found.length} spans`)
  t.strictSame(found, Array.from({ length: 30 }, (_, at) => spanIdOf(at)).slice(-found.length))
  const bytes = ['spans.jsonl', 'spans-older.jsonl'].map(
    name => statSync(path.join(directory, name), { throwIfNoEntry: false })?.size ?? 0,
  )
  t.ok(Math.max(...bytes) < 2500, String(bytes))
})

t.test('damaged and incomplete lines are skipped', async t => {
  const { create, directory, file } = open(t)
  mkdirSync(directory)
  writeFileSync(file, `${traceId} {"damaged\n${traceId} {"traceId":7}\n\n`)
  const spans = create()
  await spans.append([createReceivedSpan(), createReceivedSpan({ name: 'sent again' })])
  appendFileSync(file, `${traceId} {"incomplete`)
  t.strictSame(
    (await spans.find(traceId)).map(({ name }) => name),
    ['sent again'],
  )
})

t.test('a file that others may write, and a link, are not used', async t => {
  const { create, directory, file, problems } = open(t)
  const spans = create()
  await spans.append([createReceivedSpan()])
  await spans.purge()
  t.strictSame(await spans.find(traceId), [])
  const foreign = path.join(directory, 'foreign')
  writeFileSync(foreign, '')
  symlinkSync(foreign, file)
  t.equal(await spans.append([createReceivedSpan()]), false)
  t.equal(readFileSync(foreign, 'utf8'), '')
  t.strictSame(problems, ['Spans of other services cannot be stored.'])
  chmodSync(directory, 0o700)
})

t.test('spans that the disk cannot hold are a problem, and the process goes on', async t => {
  const { directory } = open(t)
  const program = `
    const { SpanFiles } = await import('#bundles/profiler/store/file-profile-storage.ts')
    const spans = new SpanFiles({
      directory: ${JSON.stringify(directory)},
      onProblem: (message, { code }) => console.log(code, message),
    })
    console.log(await spans.append([{ traceId: 'a', name: 'x'.repeat(100_000) }]))`
  // The limit is 8 blocks of a file.
  const limited = ['sh', '-c', `trap '' XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1"`]
  // Tap and the measurement of coverage would write files, too.
  const uncounted = ['env', '-u', 'NODE_OPTIONS', '-u', 'NODE_V8_COVERAGE']
  t.match(await runProcess(t, [...uncounted, ...limited, process.execPath, program]), {
    code: 0,
    stdout: 'EFBIG Spans of other services cannot be stored.\nfalse\n',
  })
})
