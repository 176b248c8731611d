import fc from 'fast-check'
import { t } from 'tap'
import {
  firstSupervision,
  type Supervision,
  type SupervisorAction,
  type SupervisorEvent,
  supervision,
} from '#bin/serving/supervision.ts'

const idle: Supervision = { ...firstSupervision, work: 'idle' }
const files = (...names: string[]) => new Set(names)
const problems = [{ message: 'Cannot find name' }]
const crash = { code: 1, reason: 'exit code 1' }
const change = (name: string, isRead = false): SupervisorEvent => ({ type: 'changed', name, isRead })
const failed = (code: number, isRepaired = false): SupervisorEvent => ({
  type: 'failed',
  end: { code, reason: `exit code ${code}` },
  problems,
  isRepaired,
})
const say = (text: string): SupervisorAction => ({ type: 'say', text })
const edited = (...names: string[]) => `--edits=[{"time":5,"files":${JSON.stringify(names)}}]`

type Row = readonly [
  claim: string,
  state: Supervision,
  event: SupervisorEvent,
  site: 'runs' | 'down',
  known: Partial<Supervision>,
  actions: readonly SupervisorAction[],
]

const rows: readonly Row[] = [
  [
    'a change waits until no file changes any more',
    idle,
    change('a.ts'),
    'runs',
    { work: 'settling', hasChanged: false, isStale: true, changed: files('a.ts') },
    [{ type: 'settle' }],
  ],
  [
    'a change during the work is handled next',
    { ...idle, work: 'building' },
    change('a.ts'),
    'runs',
    { work: 'building', hasChanged: true, changed: files('a.ts') },
    [],
  ],
  ['a temporary file has no name', idle, change('4913', true), 'runs', { changed: files() }, [{ type: 'settle' }]],
  [
    'a changed setting lets the next process print its texts',
    { ...idle, hasWarned: true },
    change('.env'),
    'runs',
    { hasWarned: false, changed: files('.env') },
    [{ type: 'settle' }],
  ],
  [
    'a later change prolongs the wait',
    { ...idle, work: 'settling', hasChanged: true },
    { type: 'settled' },
    'runs',
    { work: 'settling', hasChanged: false },
    [{ type: 'settle' }],
  ],
  [
    'a changed source is compiled',
    { ...idle, work: 'settling', isStale: true, changed: files('a.ts') },
    { type: 'settled' },
    'runs',
    { work: 'building', isStale: false, changed: files(), built: files('a.ts') },
    [{ type: 'build' }],
  ],
  [
    'a changed template is read again',
    { ...idle, work: 'settling', changed: files('a.hbs') },
    { type: 'settled' },
    'runs',
    { work: 'idle', changed: files(), edits: [{ time: 5, files: ['a.hbs'] }] },
    [{ type: 'send', message: { reload: ['a.hbs'] } }],
  ],
  ...(['down', 'runs'] as const).map(
    (site): Row => [
      site === 'down' ? 'without a process a template is compiled, too' : 'so it is if the latest process has failed',
      { ...idle, work: 'settling', hasFailed: site === 'runs', changed: files('a.hbs') },
      { type: 'settled' },
      site,
      { work: 'building' },
      [{ type: 'build' }],
    ],
  ),
  [
    'a process is started with what was compiled, and with what earlier ones were started with',
    { ...idle, work: 'building', built: files('b.ts'), starting: files('a.ts'), hasFailed: true, hasWarned: true },
    { type: 'built' },
    'runs',
    { work: 'idle', hasFailed: false, starting: files('a.ts', 'b.ts'), edits: [] },
    [{ type: 'start', parameters: ['--restarted', edited('a.ts', 'b.ts')] }],
  ],
  [
    'a change during the build is compiled after the start',
    { ...firstSupervision, hasChanged: true },
    { type: 'built' },
    'down',
    { work: 'settling', hasChanged: false },
    [{ type: 'start', parameters: [] }, { type: 'settle' }],
  ],
  [
    'mistakes are shown by the running process, and their files are compiled again',
    { ...idle, work: 'building', built: files('a.ts') },
    { type: 'built', problems },
    'runs',
    { work: 'idle', changed: files('a.ts') },
    [say('What was compiled before goes on: waiting for a change.'), { type: 'send', message: { broken: problems } }],
  ],
  [
    'without a process a page shows them',
    firstSupervision,
    { type: 'built', problems },
    'down',
    { work: 'idle' },
    [say('Nothing is started: waiting for a change.'), { type: 'hold', problems }],
  ],
  [
    'a process that serves has used the edits it was started with; an edit that was read meanwhile comes after them',
    { ...idle, starting: files('a.ts'), startedAt: 3, edits: [{ time: 4, files: ['b.hbs'] }] },
    { type: 'serves' },
    'runs',
    {
      starting: files(),
      edits: [
        { time: 3, files: ['a.ts'] },
        { time: 4, files: ['b.hbs'] },
      ],
    },
    [{ type: 'checkTypes' }],
  ],
  ['a port that is taken ends the supervisor', idle, failed(64), 'down', {}, [{ type: 'exit', code: 64 }]],
  [
    'not while another process runs',
    idle,
    failed(64),
    'runs',
    { hasFailed: true },
    [
      say('The new process has ended (exit code 64): the one before goes on, waiting for a change.'),
      { type: 'send', message: { broken: problems } },
    ],
  ],
  [
    'a failed start waits for a change',
    idle,
    failed(1),
    'down',
    { hasFailed: true },
    [say('The site has ended (exit code 1): waiting for a change.'), { type: 'hold', problems }],
  ],
  [
    'unless another program has compiled meanwhile',
    idle,
    failed(1, true),
    'down',
    { work: 'settling', isStale: true, hasFailed: false },
    [say('The site has ended (exit code 1): dist/ has changed.'), { type: 'settle' }],
  ],
  ['another build is of no interest', idle, { type: 'compiled' }, 'runs', idle, []],
  [
    'but after a failed start',
    { ...idle, hasFailed: true },
    { type: 'compiled' },
    'down',
    { work: 'settling', isStale: true },
    [{ type: 'settle' }],
  ],
  [
    'a process that crashes is started again',
    idle,
    { type: 'crashed', end: crash, age: 60_000 },
    'down',
    { wait: 100 },
    [say('The site has ended (exit code 1): starting again in 0.1 s.'), { type: 'wait', time: 100 }],
  ],
  [
    'soon after its start it waits twice as long, behind a page',
    { ...idle, wait: 800 },
    { type: 'crashed', end: crash, age: 10 },
    'down',
    { wait: 1_590 },
    [
      say('The site has ended (exit code 1): starting again in 1.6 s.'),
      { type: 'hold', problems: [] },
      { type: 'wait', time: 1_590 },
    ],
  ],
  [
    'at most half a minute',
    { ...idle, wait: 30_000 },
    { type: 'crashed', end: { code: null, reason: 'SIGKILL' }, age: 0 },
    'down',
    { wait: 30_000 },
    [
      say('The site has ended (SIGKILL): starting again in 30.0 s.'),
      { type: 'hold', problems: [] },
      { type: 'wait', time: 30_000 },
    ],
  ],
  [
    'a process that ends as it should ends the supervisor',
    idle,
    { type: 'crashed', end: { code: 0, reason: '' }, age: 9 },
    'down',
    {},
    [{ type: 'exit', code: 0 }],
  ],
  ['the wait ends with a start', idle, { type: 'waited' }, 'down', {}, [{ type: 'start', parameters: [] }]],
  ['not beside another process', idle, { type: 'waited' }, 'runs', {}, []],
  ['not during a build', { ...idle, work: 'building' }, { type: 'waited' }, 'down', { work: 'building' }, []],
  ['texts are printed once', idle, { type: 'warned' }, 'runs', { hasWarned: true }, []],
  [
    'a signal stops all',
    { ...idle, work: 'building' },
    { type: 'stopped', signal: 'SIGTERM' },
    'runs',
    { isStopping: true },
    [{ type: 'stop', signal: 'SIGTERM' }],
  ],
  [
    'so does a second one',
    { ...idle, isStopping: true },
    { type: 'stopped', signal: 'SIGINT' },
    'runs',
    {},
    [{ type: 'stop', signal: 'SIGINT' }],
  ],
]

for (const [claim, state, event, site, known, actions] of rows) {
  t.test(claim, async t => {
    const [next, done] = supervision(state, event, { isRunning: site === 'runs', now: 5 })
    t.strictSame({ ...next, ...known }, next)
    t.strictSame(done, actions)
  })
}

// Changes come in any order with the ends of actions, which take time.
t.test('each changed file is compiled or read again; nothing is compiled twice at once', async t => {
  const names = ['a.ts', 'b.ts', 'c.hbs', 'd.hbs', '.env']
  const step = fc.oneof(
    fc.constantFrom(...names).map(name => ({ name })),
    fc.record({ pick: fc.nat(), isGood: fc.boolean() }),
  )
  const property = fc.property(fc.array(step, { maxLength: 40 }), steps => {
    let state: Supervision = firstSupervision
    let isRunning = false
    let pending: string[] = ['build']
    const open = new Set<string>()
    const handle = (event: SupervisorEvent) => {
      const [next, actions] = supervision(state, event, { isRunning, now: 1 })
      state = next
      for (const action of actions) {
        if (action.type === 'start') pending = pending.filter(type => type !== 'start')
        if (['build', 'settle', 'start'].includes(action.type)) pending.push(action.type)
        const text = action.type === 'start' ? action.parameters.join() : JSON.stringify(action)
        if (action.type === 'start' || text.includes('"reload"'))
          for (const name of names) if (text.includes(`"${name}"`)) open.delete(name)
      }
      if (pending.filter(type => type !== 'start').length > 1) throw new Error('two works at once')
    }
    const end = (type: string | undefined, isGood: boolean) => {
      if (type === 'build') handle({ type: 'built', ...(!isGood && { problems }) })
      else if (type === 'settle') handle({ type: 'settled' })
      else if (type === 'start' && isGood) {
        isRunning = true
        handle({ type: 'serves' })
      } else if (type === 'start') handle(failed(1))
    }
    for (const each of steps) {
      if ('name' in each) {
        open.add(each.name)
        handle(change(each.name, each.name.endsWith('.hbs')))
      } else end(pending.splice(each.pick % Math.max(pending.length, 1), 1)[0], each.isGood)
    }
    // A last change, after which all goes well.
    handle(change('a.ts'))
    for (let count = 0; pending.length > 0; count++) {
      if (count === 100) throw new Error('no end')
      end(pending.shift(), true)
    }
    return open.size === 0 && state.work === 'idle' && isRunning && !state.hasFailed
  })
  t.doesNotThrow(() => fc.assert(property))
})
