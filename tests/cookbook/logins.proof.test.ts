import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { t } from 'tap'
import { CookieJar } from 'tough-cookie'
import { SiteProcess } from '#tests/bin/site-process.ts'
import type { QueryData } from '#tests/support/create-profile.ts'
import { findPort } from '#tests/support/find-port.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { followRecipes, proven } from './recipes.ts'

const tls = path.resolve('tests/fixtures/tls')
const ca = readFileSync(path.join(tls, 'cert.pem'))

/** A browser without pages: it keeps cookies, and follows no redirect by itself. */
class Visitor {
  readonly #jar = new CookieJar()

  async ask(url: string, body?: string, type = 'application/x-www-form-urlencoded') {
    const headers = {
      cookie: await this.#jar.getCookieString(url),
      accept: 'text/html',
      ...(body !== undefined && { 'content-type': type, origin: new URL(url).origin }),
    }
    const options = { method: body === undefined ? 'GET' : 'POST', headers, ca }
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const request = url.startsWith('https:') ? httpsRequest : httpRequest
      request(url, options, resolve).on('error', reject).end(body)
    })
    for (const cookie of response.headers['set-cookie'] ?? []) await this.#jar.setCookie(cookie, url)
    const { location } = response.headers
    return {
      url,
      status: response.statusCode,
      token: response.headers['x-debug-token'],
      text: await text(response),
      location: location && new URL(location, url).href,
    }
  }

  /** Sends a request, and goes where its redirects lead. */
  async follow(url: string, body?: string) {
    let answer = await this.ask(url, body)
    while (answer.location !== undefined) answer = await this.ask(answer.location)
    return answer
  }

  /** Sends the form of a page with these values, and goes on. */
  submit(page: { readonly url: string; readonly text: string }, values: Readonly<Record<string, string>>) {
    const action = /<form[^>]* action="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const hidden = page.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)
    const fields = new URLSearchParams(values)
    for (const [, name = '', value = ''] of hidden) fields.append(name, value)
    return this.follow(new URL(action, page.url).href, String(fields))
  }
}

/** A provider of logins with one client, on its own port. Its pages accept every name and password. */
const provider = `
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import Provider from 'oidc-provider'

const [port, callback, tls] = process.argv.slice(2)
const client = { client_id: 'my-site', client_secret: 'the-secret-of-the-client', redirect_uris: [callback] }
const provider = new Provider('https://localhost:' + port, { clients: [client] })
createServer({ key: readFileSync(tls + '/key.pem'), cert: readFileSync(tls + '/cert.pem') }, provider.callback())
  .listen(Number(port), 'localhost', () => console.log('The provider is ready.'))
`

/** Shows what the recipe of openid-client has put into the session. */
const who = `import { type Bundle, Response } from 'sinfonietta'

export const whoBundle: Bundle = {
  name: 'who',
  register({ routes }) {
    routes.get('who', '/', async ({ session }) => Response.json({ user: (await session.get('user')) ?? null }))
  },
}
`

t.test('the recipes of logins', { skip: noRegistry || lacksPostgres }, async t => {
  const { database, host, password, port: postgresPort, user } = await startPostgres(t)
  const databaseUrl = `postgres://${user}:${password}@${host}:${postgresPort}/${database}`
  const [port, providerPort] = [await findPort(), await findPort()]
  const url = `http://127.0.0.1:${port}`
  const recipes = await followRecipes(t, proven.logins, ['oidc-provider'])
  const secret = 'a secret of a test, which is long enough'
  const find = `async (name, password) => {
    if (name === 'broken') throw new Error('The list of members is lost.')
    return name === 'ada' && password === 'right' ? '7' : undefined
  }`
  recipes.write('bundles/who/who-bundle.ts', who)
  recipes.list({
    'who/who-bundle.ts': 'whoBundle',
    'members/members-bundle.ts': `createMembersBundle(${find})`,
    'accounts/accounts-bundle.ts': `createAccountsBundle('${databaseUrl}', '${url}', '${secret}')`,
    'sign-in/sign-in-bundle.ts': `createSignInBundle(new URL('https://localhost:${providerPort}'), 'my-site', 'the-secret-of-the-client')`,
  })
  await recipes.run('bin/console accounts:migrate')
  recipes.write('provider.mjs', provider)
  const command = [process.execPath, 'provider.mjs', String(providerPort), `${url}/sign-in/done`, tls]
  await new SiteProcess(t, command, { cwd: recipes.directory }).until(/The provider is ready/)
  const { readProfile, site } = await recipes.serve(t, [`--port=${port}`], {
    NODE_EXTRA_CA_CERTS: path.join(tls, 'cert.pem'),
  })

  await t.test('Passport', async t => {
    const visitor = new Visitor()
    t.equal((await visitor.ask(`${url}/login`, 'username=ada&password=wrong')).status, 401)
    t.equal((await visitor.ask(`${url}/login`, 'username=ada')).status, 422)
    t.equal((await visitor.ask(`${url}/login`, 'username=broken&password=x')).status, 500)
    t.equal((await visitor.ask(`${url}/member`)).text, '{"member":null}')
    const member = await visitor.follow(`${url}/login`, 'username=ada&password=right')
    t.strictSame([member.url, member.text], [`${url}/member`, '{"member":"7"}'])
    t.equal((await new Visitor().ask(`${url}/member`)).text, '{"member":null}', 'others are not logged in')
  })

  await t.test('Better Auth', async t => {
    const visitor = new Visitor()
    t.equal((await visitor.ask(`${url}/account`)).status, 401)
    const account = JSON.stringify({ name: 'Ada', email: 'ada@example.org', password: 'a good password' })
    const join = () => visitor.ask(`${url}/api/auth/sign-up/email`, account, 'application/json')
    t.equal((await join()).status, 200)
    const known = await visitor.ask(`${url}/account`)
    t.equal(known.text, '{"name":"Ada"}')
    const { queries } = await readProfile(known.token)
    const texts = ((queries?.queries ?? []) as readonly QueryData[]).map(({ text }) => text)
    t.match(texts.join('\n'), /from "session"/, 'its queries are in the profile')
    const again = new Visitor()
    const logIn = (body: object) => again.ask(`${url}/api/auth/sign-in/email`, JSON.stringify(body), 'application/json')
    t.equal((await logIn({ email: 'ada@example.org', password: 'a bad password' })).status, 401)
    t.equal((await logIn({ email: 'ada@example.org', password: 'a good password' })).status, 200)
    t.equal((await again.ask(`${url}/account`)).text, '{"name":"Ada"}')
    await again.ask(`${url}/api/auth/sign-out`, '{}', 'application/json')
    t.equal((await again.ask(`${url}/account`)).status, 401, 'after the end of the session')
  })

  await t.test('openid-client', async t => {
    const visitor = new Visitor()
    t.equal((await visitor.ask(`${url}/sign-in/done?code=stolen`)).status, 400)
    const begun = await visitor.ask(`${url}/sign-in`)
    const login = await visitor.follow(String(begun.location))
    const { http } = await readProfile(begun.token)
    t.match(
      http?.calls,
      [{ url: /^https:\/\/localhost:\d+\/\.well-known\/openid-configuration/ }],
      'a call is in the profile',
    )
    t.match(login.url, `https://localhost:${providerPort}/interaction/`)
    const consent = await visitor.submit(login, { login: 'ada', password: 'any' })
    const back = await visitor.submit(consent, {})
    t.strictSame([back.url, back.text], [`${url}/`, '{"user":"ada"}'])
    t.equal((await new Visitor().ask(`${url}/`)).text, '{"user":null}', 'others are not logged in')
  })

  site.child.kill('SIGTERM')
  t.equal(await site.end(), 0, 'all connections are closed')
})
