import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import type { Session } from 'node:inspector'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Request } from 'sinfonietta'
import { createRequest } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { SampleStart } from '#bundles/profiler/record/profiler.ts'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { CpuSampler, type CpuSamplerOptions } from '#bundles/profiler/subjects/cpu/cpu-sampler.ts'
import { ArmFile, CpuProfiler, cpuPart, parseArming } from '#bundles/profiler/subjects/cpu/record.ts'
import { defineController, namedFunctionOf, toController } from '#kernel/controller.ts'
import { Response } from '#lib/http/response.ts'
import { createRecorder } from '#tests/support/recording-logger.ts'
import { until } from '#tests/support/until.ts'

function create(t: Test, armFile = path.join(t.testdir(), 'armed.json')) {
  const starts: SampleStart[] = []
  const profiler = {
    sampleWith(start: SampleStart) {
      starts.push(start)
      return () => void starts.pop()
    },
  }
  const file = new ArmFile(armFile)
  const sampler = new CpuSampler({ keepsCode: true })
  const { logger, records } = createRecorder()
  const cpu = new CpuProfiler({ profiler, file, logger, sampler, limit: 20 })
  t.teardown(() => cpu.close())
  const begin = (target: string, others = 0) => {
    const request = createRequest(target)
    const trace = new Trace('abc123', request, undefined)
    starts[0]?.(request, trace.token, others)?.(trace)
    return cpuPart.find(trace)?.recording
  }
  return { armFile, cpu, file, begin, starts, records }
}

const target = { method: 'GET', path: '/asked' }

t.test('requests are inspected only from arming until the sampled request ends', async t => {
  const { cpu, begin, starts } = create(t)
  t.equal(starts.length, 0)
  cpu.arm(target)
  t.equal(starts.length, 1)
  cpu.arm({ method: 'GET', path: '/other' })
  t.equal(starts.length, 1)
  t.equal(begin('/asked'), undefined, 'the first target is replaced')
  const recording = begin('/other', 2)
  t.ok(recording)
  t.equal(starts.length, 1)
  t.equal(begin('/other'), undefined)
  const sampled = recording?.stop()
  t.hasStrict(sampled, { others: 3, isCut: false })
  t.equal(recording?.stop(), sampled, 'a second stop returns the same result')
  t.equal(starts.length, 0)
  t.equal(cpu.last, 'abc123')
})

t.test('sampling has a time limit', async t => {
  const { cpu, begin, starts } = create(t)
  cpu.arm(target)
  const recording = begin('/asked')
  await delay(60)
  t.equal(starts.length, 0)
  t.hasStrict(recording?.stop(), { isCut: true })
})

t.test('one at a time: the next target waits until the sampled request ends', async t => {
  const { cpu, begin, starts } = create(t)
  cpu.arm(target)
  const recording = begin('/asked')
  cpu.arm(target)
  t.equal(begin('/asked'), undefined)
  recording?.stop()
  t.equal(starts.length, 1)
  t.ok(begin('/asked'))
})

t.test('sampling ends with the server', async t => {
  const { cpu, begin, starts } = create(t)
  cpu.arm(target)
  begin('/asked')
  cpu.close()
  t.equal(starts.length, 0)
  cpu.close()
})

t.test('a request that another process has sampled is not sampled again', async t => {
  const { cpu, file, begin, starts } = create(t)
  cpu.arm(target)
  t.ok(file.remove())
  t.notOk(file.remove())
  t.equal(begin('/asked'), undefined)
  t.equal(starts.length, 0)
})

t.test('refused requests are not sampled', async t => {
  const { cpu, begin } = create(t)
  cpu.arm({ method: 'GET', path: '/%zz' })
  t.equal(begin('/%zz'), undefined)
})

t.test('an arming expires', async t => {
  const { armFile, cpu, file, starts } = create(t)
  cpu.listen()
  t.teardown(() => cpu.close())
  file.write({ target, until: Date.now() + 500 })
  await until(() => cpu.armed !== undefined)
  await until(() => cpu.armed === undefined)
  t.notOk(existsSync(armFile))
  t.equal(starts.length, 0)
})

t.test('an expired or invalid file arms nothing', async t => {
  const { armFile, cpu } = create(t)
  for (const text of [
    '',
    'no',
    '[]',
    '{"target":{"route":"x"}}',
    `{"target":{"method":"GET"},"until":${Date.now() + 1e6}}`,
    JSON.stringify({ target, until: Date.now() - 1 }),
  ]) {
    writeFileSync(armFile, text)
    cpu.listen()
    t.equal(cpu.armed, undefined, text)
    cpu.close()
  }
  t.strictSame(parseArming('{"target":{"route":"x"},"until":5}'), { target: { route: 'x' }, until: 5 })
})

t.test('a directory that cannot be watched is logged with the consequence', async t => {
  const folder = t.testdir({ file: 'no folder' })
  const { cpu, records } = create(t, path.join(folder, 'file/below/armed.json'))
  cpu.listen()
  t.match(records, [{ level: 'warning', message: /^The console cannot request CPU profiles: E\w+: / }])
  t.throws(() => cpu.arm(target))
})

t.test('a file that cannot be removed does not prevent sampling', async t => {
  const armFile = path.join(t.testdir(), 'armed.json')
  mkdirSync(armFile)
  t.ok(new ArmFile(armFile).remove())
})

t.test('a sampler that was not started has no nodes', async t => {
  const sampler = new CpuSampler({ keepsCode: true })
  t.strictSame(sampler.stop().nodes, [])
  t.equal(sampler.findNames([create]).size, 0)
  sampler.start()
  t.ok(sampler.stop().nodes.length > 0)
  t.strictSame(sampler.stop().nodes, [])
})

t.test('inline functions of controllers have the name of their controller or route', async t => {
  const inline = (
    () => (request: Request) =>
      Response.text(request.path)
  )()
  toController(inline, 'home')
  const defined = defineController('item', () => undefined)
  const functions = [inline, defined, 'error_controller', create].flatMap(namedFunctionOf)
  const sampler = new CpuSampler({ keepsCode: true })
  sampler.start()
  const names = sampler.findNames([...functions, create.bind(null)])
  sampler.stop()
  t.strictSame([...names.values()], ['controller home', 'controller item'])
  t.match([...names.keys()][0], /^\d+:\d+:\d+$/)
  t.notOk(Object.keys(globalThis).some(name => name.startsWith('sinfonietta')))
})

t.test('by default, code that was compiled before is discarded', async t => {
  const postedBy = (options: CpuSamplerOptions) => {
    const posted: string[] = []
    const session = { post: (method: string) => void posted.push(method) }
    // A session has only the methods that the sampler calls.
    const sampler = new CpuSampler({ ...options, connect: () => session as Session })
    sampler.start()
    sampler.start()
    return posted
  }
  const begin = ['Profiler.enable', 'Profiler.setSamplingInterval']
  const discard = ['Profiler.startPreciseCoverage', 'Profiler.stopPreciseCoverage']
  const start = 'Profiler.start'
  t.strictSame(postedBy({}), [...begin, ...discard, start, ...discard, start])
  t.strictSame(postedBy({ keepsCode: true }), [...begin, start, start])
})
