import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { t } from 'tap'
import { HoldingPage } from '#bin/serving/holding-page.ts'
import { findPort } from '#tests/support/find-port.ts'
import { provenSample } from '#tests/support/sample.ts'

t.test('with broken settings, the reason is shown if no file could close debug output', async t => {
  const malformed = 'MAIL_PASSWORD="Xk7Canary9\n'
  const files: [file: string, content: string | Buffer, isShown: boolean][] = [
    ['.env', `APP_ENV='dev' # as always\n${malformed}`, true],
    ['.env', `APP_ENV=prod\n${malformed}`, false],
    ['.env', `APP_ENV=dev-1\n${malformed}`, false],
    ['.env.local', `export NODE_ENV="production"\n${malformed}`, false],
    ['.env', `APP_DEBUG=0\n${malformed}`, false],
    ['.env', `TRUSTED_PROXIES=127.0.0.1\n${malformed}`, false],
    ['.env', `DEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n${malformed}`, false],
    ['.env', Buffer.from(`DEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n${malformed}`, 'utf16le'), false],
    // Readable, but with another mistake.
    ['.env', 'LOG_LEVEL=loud\nDEBUG_KEY=Xk7Canary9Xk7Canary9Xk7Canary9\n', false],
    ['.env', 'LOG_LEVEL=loud\n', true],
  ]
  for (const [name, content, isShown] of provenSample(files, 2)) {
    const port = await findPort()
    const folder = mkdtempSync(path.join(tmpdir(), 'broken-settings-'))
    t.teardown(() => rmSync(folder, { recursive: true }))
    const file = path.join(folder, name)
    writeFileSync(file, content)
    const page = new HoldingPage(folder, [`--port=${port}`, '--env=dev'])
    await page.open([{ message: 'The reason', file, line: 2 }])
    const response = await fetch(`http://127.0.0.1:${port}/any`, { headers: { accept: 'text/html' } })
    const text = await response.text()
    t.equal(response.status, 503)
    t.equal(text.includes('The reason'), isShown, JSON.stringify(String(content)))
    t.notMatch(text, 'Xk7Canary9', 'files of settings have no excerpts')
    const list = await fetch(`http://127.0.0.1:${port}/_profiler/`)
    t.equal(list.status, isShown ? 200 : 503)
    await page.close()
  }
})

t.test('the page that waits leaves a port to another program, and the last call counts', async t => {
  const port = `--port=${await findPort()}`
  const pages = [new HoldingPage(process.cwd(), [port]), new HoldingPage(process.cwd(), [port])]
  for (const page of pages) await page.open()
  for (const page of pages) await page.close()
  const [first] = pages
  await first?.open()
  await first?.open()
  const address = `http://127.0.0.1:${port.slice(7)}/any`
  t.equal((await fetch(address, { method: 'POST' })).status, 503)
  const overlapping = [first?.open(), first?.open()]
  await first?.close()
  await Promise.all(overlapping)
  await t.rejects(fetch(address))
})
