import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { setCookie } from 'hono/cookie'

const app = new Hono()

app.post('/login', async function login(context) {
  const credentials = await context.req.json()
  console.log('A login:', credentials)
  const user = { email: credentials.email, roles: ['editor', 'author'], lastLogin: new Date(0) }
  if (!credentials.remember) console.warn('The session of %s ends with the browser.', user.email)
  setCookie(context, 'session', crypto.randomUUID())
  return context.json({ user })
})

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' })
