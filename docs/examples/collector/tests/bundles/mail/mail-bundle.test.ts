import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, Response } from 'sinfonietta'
import { createProfiledTestKernel } from 'sinfonietta/profiler/testing'
import { MailBundle } from '../../../bundles/mail/mail-bundle.ts'

test('the mails of a request are in its profile, without secrets', async t => {
  const mail = new MailBundle()
  const shop: Bundle = {
    name: 'shop',
    register({ routes }) {
      const order = () => {
        mail.send({ to: 'Grace', subject: 'Your link: token=hunter2hunter2' })
        return Response.text('sent')
      }
      routes.get('order', '/order', order)
      routes.get('quiet', '/quiet', () => Response.text('nothing sent'))
    },
  }
  const bundles = [createFrameworkBundle(), mail, shop]
  const { client, close, expectProfile } = await createProfiledTestKernel({ bundles })
  t.after(close)
  mail.send({ to: 'Alan', subject: 'outside of a request' })

  const order = await client.get('/order')
  const quiet = await client.get('/quiet')
  assert.deepEqual((await expectProfile(order)).dataOf('mail'), [{ to: 'Grace', subject: 'Your link: token=******' }])
  assert.equal((await expectProfile(quiet)).dataOf('mail'), undefined)

  const panelOf = ({ headers }: typeof order) => client.get(`/_profiler/${headers.get('x-debug-token')}?panel=mail`)
  assert.match((await panelOf(order)).text, /<tr><td>Grace<\/td><td>Your link: token&#x3D;\*\*\*\*\*\*<\/td><\/tr>/)
  assert.match((await panelOf(quiet)).text, /No mail was sent\./)
})
