import { readFileSync } from 'node:fs'
import { t } from 'tap'
import { frameworkBundle } from '../bundles/framework/framework-bundle.ts'
import { createProfilerBundle } from '../bundles/profiler/profiler-bundle.ts'
import { MemoryProfileStorage } from '../bundles/profiler/store/memory-profile-storage.ts'
import type { Bundle } from '../kernel/bundle.ts'
import { createTestKernel } from '../kernel/testing/create-test-kernel.ts'
import { Response } from '../lib/http/response.ts'
import { MailBundle } from './fixtures/mail-bundle.ts'
import { createProject } from './support/project.ts'

const guide = readFileSync('docs/guides/profiler.md', 'utf8')

const [, templateName = '', template = ''] = /```hbs\n\{\{!-- (\S+) --\}\}\n([\s\S]*?)```/.exec(guide) ?? []

t.test('the collector of the guide is shorter than 40 lines, is what is tested, and has its panel', async t => {
  const code = readFileSync('tests/fixtures/mail-bundle.ts', 'utf8')
  t.ok(guide.includes(code))
  t.ok(code.split('\n').length < 40)

  const mail = new MailBundle()
  const site: Bundle = {
    name: 'site',
    register({ routes }) {
      const controller = () => {
        mail.send({ to: 'Ada', subject: 'Your booth is ready' })
        mail.send({ to: 'Grace', subject: 'token=hunter2hunter2' })
        return Response.text('sent')
      }
      routes.add({ name: 'order', path: '/order', controller })
      routes.add({ name: 'quiet', path: '/quiet', controller: () => Response.text('nothing sent') })
    },
  }
  const profiler = createProfilerBundle({ storage: new MemoryProfileStorage() })
  const bundles = [frameworkBundle, mail, site, profiler]
  const directory = createProject(t.testdir(), { [templateName]: template })
  const { client, close } = await createTestKernel({ bundles, directory })
  t.teardown(close)
  mail.send({ to: 'nobody', subject: 'outside of a request' })

  const ordered = await client.get('/order')
  const page = await client.get(`/_profiler/${ordered.headers.get('x-debug-token')}?panel=mail`)
  t.equal(page.status, 200)
  t.match(page.text, '<li>Your booth is ready <small>to Ada</small></li>')
  t.match(page.text, 'token&#x3D;******')
  t.notMatch(page.text, /hunter2|outside/)

  const quiet = await client.get('/quiet')
  const empty = await client.get(`/_profiler/${quiet.headers.get('x-debug-token')}?panel=mail`)
  t.equal(empty.status, 200)
  t.notMatch(empty.text, '<li>Your booth')
})
