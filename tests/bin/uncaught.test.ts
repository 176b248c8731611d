import { t } from 'tap'
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { provenSample } from '#tests/support/sample.ts'
import { startFixture } from './site-process.ts'

const ownSecret = { APP_SECRET: 'of one’s own, and long enough for production' }

t.test('an uncaught exception ends the process after the running requests were answered', async t => {
  const cases = [
    ['/throw', 'thrown later'],
    ['/reject', 'rejected later'],
  ] as const
  for (const [path, message] of provenSample(cases, 1)) {
    const site = startFixture(t, 'crashing-site', { ...ownSecret, APP_ENV: 'prod' })
    const url = await site.url()
    const slow = fetch(`${url}/slow`)
    t.equal(await (await fetch(url + path)).text(), 'nothing is wrong')
    const response = await slow
    t.equal(response.headers.get('connection'), 'close')
    t.equal(await response.text(), 'slow, and whole')
    t.equal(await site.end(), 1)
    const records = site.stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const record = records.find(({ level }) => level === 'critical')
    t.match(records.at(-1), { channel: 'access', message: 'GET /slow 200' }, 'the last lines are written')
    t.match(record, { level: 'critical', message: /uncaught exception/ })
    t.match(JSON.stringify(record), message)
  }
})

t.test('rt-throw-late: in development the log names the request of an uncaught exception and its profile', async t => {
  for (const target of provenSample(['/throw?password=hunter2', '/reject?password=hunter2'], 1)) {
    const directory = t.testdir()
    const site = startFixture(t, 'crashing-site', { APP_ENV: 'dev', PROFILES: directory })
    const url = await site.url()
    const slow = fetch(`${url}/slow`)
    t.equal(await (await fetch(url + target)).text(), 'nothing is wrong')
    t.equal(await (await slow).text(), 'slow, and whole')
    t.equal(await site.end(), 1)
    const [, named] =
      /The process ends because of an uncaught exception in the work for GET (\S+?)(?:: (?:a promise was rejected, which nothing awaits or catches|catch it in [^.]+))\.\s/.exec(
        site.stdout,
      ) ?? []
    t.equal(named, `${url}${target.replace('hunter2', '******')}`)
    const [, token = ''] = /The profile ([\da-f]{6}) has the uncaught exception\./.exec(site.stdout) ?? []
    const storage = new FileProfileStorage({ directory, onProblem: () => undefined })
    const { summary, data } = (await storage.find(token))?.profile ?? {}
    t.hasStrict(summary, { outcome: 'crashed', status: 200, exception: 'Error' })
    t.match(summary?.url, /\/(throw|reject)\?/)
    t.match(data?.exception, { exceptions: [{ message: / later$/ }] })
    t.notMatch(JSON.stringify(data?.logger ?? ''), 'has the uncaught exception', 'a profile does not name itself')
    t.equal((await storage.search({ limit: 10 })).summaries.length, 2)
    await storage.close()
    t.notMatch(site.stdout, /hunter2/)
  }
})

t.test('rt-throw-late: after an unhandled rejection of any value the process ends in order', async t => {
  for (const value of provenSample(['undefined', 'text', 'empty'], 1)) {
    const site = startFixture(t, 'crashing-site', { ...ownSecret, APP_ENV: 'prod' })
    const url = await site.url()
    const slow = fetch(`${url}/slow`)
    t.equal(await (await fetch(`${url}/odd?value=${value}`)).text(), 'nothing is wrong')
    t.equal(await (await slow).text(), 'slow, and whole')
    t.equal(await site.end(), 1, value)
    t.match(site.stdout, /uncaught exception/)
  }
})
