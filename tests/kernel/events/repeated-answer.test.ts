import { type Bundle, createFrameworkBundle, RequestEvent, Response } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { t } from 'tap'

/** Answers three pages: twice, twice with the same response, and once. */
const guard: Bundle = {
  name: 'guard',
  register({ dispatcher }) {
    dispatcher.on(RequestEvent, event => {
      const refusal = Response.text('Sign in.', { status: 401 })
      event.respond(refusal)
      if (event.request.path === '/same') event.respond(refusal)
      if (event.request.path === '/twice') event.respond(Response.text('Welcome.'))
    })
  },
}

async function answer(variables: Readonly<Record<string, string>>) {
  const { client, close, records } = await createTestKernel({ bundles: [createFrameworkBundle(), guard], variables })
  const responses = [await client.get('/twice'), await client.get('/same'), await client.get('/once')]
  await close()
  return { texts: responses.map(({ text }) => text), warnings: records.filter(({ level }) => level === 'warning') }
}

t.test('a listener may answer twice; in development, the log says which response is not sent', async t => {
  const { texts, warnings } = await answer({})
  t.strictSame(texts, ['Welcome.', 'Sign in.', 'Sign in.'])
  t.equal(warnings.length, 1)
  t.match(
    warnings[0]?.message,
    /^event\.respond\(\) in tests\/\S+repeated-answer\.test\.[jt]s:\d+ replaces a response with the status 401, which is not sent: is a "return" missing before this call\?$/,
  )
  t.strictSame((await answer({ APP_ENV: 'prod' })).warnings, [])
})
