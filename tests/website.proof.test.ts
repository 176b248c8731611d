import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { needsBrowser, openPage } from './support/browser.ts'
import { parseTags, type Tag, unescapeHtml } from './support/html.ts'
import { lookAt, watch } from './support/page-checks.ts'
import { runProcess } from './support/start-process.ts'
import { serveKernel } from './support/test-server.ts'
import { walkByKeyboard } from './support/walk-by-keyboard.ts'

/** For the options of a test: `npm run docs` installs the generator. */
const needsGenerator = {
  skip:
    !existsSync('docs/website/node_modules') && 'the generator of the website is not installed: "npm run docs" does it',
}

t.test('the documentation as a website', needsGenerator, async t => {
  const folder = t.testdir()
  const command = [process.execPath, 'docs/website/build.js', `--output=${folder}`]
  const { code, stderr, stdout } = await runProcess(t, command)
  t.equal(code, 0, 'it is built', { stderr, stdout })
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const pages = files.filter(file => file.endsWith('.html')).map(file => readPage(folder, file))

  t.test('it has a page for each document', async t => {
    const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.md') && !file.includes('node_modules/'))
      .map(file => `docs/${file}`)
    const all = [...documents, 'README.md', 'SECURITY.md', 'CHANGELOG.md']
    const expected = all.map(file => file.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html'))
    t.strictSame(pages.map(({ file }) => file).toSorted(), expected.toSorted())
  })

  t.test('llms.txt lists all documents of the navigation, which are copied as they are', async t => {
    const list = readFileSync(path.join(folder, 'llms.txt'), 'utf8')
    const listed = [...list.matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, target = '']) => target)
    t.equal(listed.length, list.split('\n- ').length - 1, 'each has a text')
    t.ok(listed.length > 50, 'documents are listed')
    t.strictSame(
      listed.filter(file => readFileSync(path.join(folder, file), 'utf8') !== readFileSync(file, 'utf8')),
      [],
    )
  })

  t.test('each link leads to a file of it and to a place there, or to another website', async t => {
    const targets = pages.flatMap(page => page.links.map(link => ({ page: page.file, ...link })))
    t.ok(targets.length > 3000, 'links are found')
    const isOpen = (file: string, anchor: string) =>
      anchor === '' || pages.some(page => page.file === file && page.ids.includes(anchor))
    const broken = targets.filter(({ name, page, target }) => {
      // Only a reader who follows a link leaves the website.
      if (/^https?:/.test(target)) return name !== 'a'
      const [link = '', anchor = ''] = target.split('#')
      const file = link === '' ? page : path.join(path.dirname(page), link)
      return !files.includes(file) || !isOpen(file, anchor)
    })
    t.strictSame(broken, [])
  })

  t.test('each page has a title, one first heading, and no name twice', async t => {
    const wrong = pages.filter(
      ({ headings, ids, title }) => title === '' || headings !== 1 || new Set(ids).size < ids.length,
    )
    t.strictSame(
      wrong.map(({ file }) => file),
      [],
    )
  })

  await t.test('in a browser', needsBrowser, t => checkInBrowser(t, folder))
})

async function checkInBrowser(t: Test, folder: string): Promise<void> {
  const place = '/assets/website'
  const { version }: { version: string } = JSON.parse(readFileSync('package.json', 'utf8'))
  const kernel = await createTestKernel({
    bundles: [createFrameworkBundle(), { name: 'website', register: ({ files }) => files.add('website', folder) }],
  })
  t.teardown(kernel.close)
  const { url } = await serveKernel(t, kernel)
  const page = await openPage(t)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const complaints = watch(page, url)
  const looked = ['index', 'docs/index', 'docs/guides/from-express', 'docs/reference/configuration', 'SECURITY']

  for (const name of looked) {
    for (const [colorScheme, width] of [['light', 1400] as const, ['dark', 400] as const]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 900 })
      await page.goto(`${url}${place}/${name}.html`)
      await page.evaluate(axe.source)
      const found = await page.evaluate<string[]>(
        'axe.run({ preload: false }).then(({ violations }) => violations.map(({ id, nodes }) => id + " " + nodes[0].target))',
      )
      t.strictSame(found, [], `axe finds nothing in ${name}, ${colorScheme}, ${width} pixels`)
      const { overflow, pale } = await lookAt(page)
      t.strictSame({ overflow, pale }, { overflow: 0, pale: [] })
      const { missed, unseen } = await walkByKeyboard(page)
      t.strictSame({ missed, unseen }, { missed: [], unseen: [] }, `the keyboard reaches everything in ${name}`)
    }
  }

  await page.setViewportSize({ width: 400, height: 900 })
  await page.getByRole('button', { name: 'Contents' }).press('Enter')
  await page.getByRole('link', { name: 'A session store' }).click()
  t.equal(await page.locator('h1').innerText(), 'A session store', 'a narrow page has its contents behind a button')

  // The script shows the field when it is ready.
  await page.getByRole('searchbox').waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type('TRUSTED_PROX')
  await page.getByRole('link', { name: 'Configuration' }).first().waitFor()
  const { x = -1, width = 0 } = (await page.locator('.results').boundingBox()) ?? {}
  t.ok(x >= 0 && x + width <= 400, 'the results are on the screen')
  await page.keyboard.press('Escape')
  t.notOk(await page.locator('.results').isVisible(), 'Escape closes the results')
  await page.getByRole('searchbox').fill('stopping')
  await page.getByRole('link', { name: /^Stopping/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/listener\.html#stopping$/)

  await page.getByRole('searchbox').fill('n+1')
  await page.getByRole('link', { name: /^N\+1 queries/ }).waitFor()
  const others = page.locator('.results').getByRole('link', { name: /^1\. Hello/ })
  t.equal(await others.count(), 0, 'a name with a plus is one word')

  await page.getByRole('searchbox').fill('<b>qwertzuiop</b>')
  await page.getByText('Nothing was found.').waitFor()
  await page.keyboard.press('Escape')

  const paper = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
  await page.emulateMedia({ colorScheme: 'light' })
  const light = await paper()
  await page.emulateMedia({ colorScheme: 'dark' })
  const dark = await paper()
  t.not(light, dark)
  await page.getByRole('button', { name: 'Theme: system' }).click()
  t.equal(await paper(), light, 'a reader chooses the light theme')
  await page.getByRole('link', { name: `Version ${version}` }).click()
  t.equal(await page.locator('h1').innerText(), 'Changelog', 'the version leads to its changes')
  // The script that applies the theme runs before the first paint, but after the page can be read.
  await page.getByRole('button', { name: 'Theme: light' }).waitFor()
  t.equal(await paper(), light, 'the next page has the chosen theme')
  await page.getByRole('button', { name: 'Theme: light' }).click()
  t.equal(await paper(), dark)
  await page.getByRole('button', { name: 'Theme: dark' }).click()
  await page.getByRole('button', { name: 'Theme: system' }).waitFor()
  t.strictSame(complaints(), [], 'nothing fails, and nothing is loaded from elsewhere')
}

/** A page of the website. */
interface WebsitePage {
  readonly file: string
  readonly title: string
  /** The number of its first headings. */
  readonly headings: number
  readonly ids: readonly string[]
  /** With the names of their tags. */
  readonly links: readonly { readonly name: string; readonly target: string }[]
}

function readPage(folder: string, file: string): WebsitePage {
  const html = readFileSync(path.join(folder, file), 'utf8')
  const tags = parseTags(html)
  const valuesOf = ({ attributes }: Tag, ...names: string[]) =>
    attributes.filter(([name]) => names.includes(name)).map(([, value]) => unescapeHtml(value))
  return {
    file,
    title: /<title>(.*) · Sinfonietta<\/title>|<title>(Sinfonietta)<\/title>/.exec(html)?.slice(1).join('') ?? '',
    headings: tags.filter(({ name }) => name === 'h1').length,
    ids: tags.flatMap(tag => valuesOf(tag, 'id')),
    links: tags.flatMap(tag => valuesOf(tag, 'href', 'src').map(target => ({ name: tag.name, target }))),
  }
}
