import { readdirSync, readFileSync } from 'node:fs'
import { t } from 'tap'

/** The guides whose code is in a folder that the tests run: each block is a whole file. */
const guides = ['testing', 'errors']
const folder = 'tests/guides'

t.test('each block of code in a guide is a file that the tests run, and each such file stands in a guide', async t => {
  const shown = guides.flatMap(name => {
    const guide = readFileSync(`docs/guides/${name}.md`, 'utf8')
    const blocks = [...guide.matchAll(/^```.*\n([\s\S]*?)^```$/gm)]
    return blocks.map(([, block = '']) => {
      const [, file = '', code] = /^\/\/ (\S+)\n([\s\S]*)$/.exec(block) ?? []
      t.equal(code, readFileSync(file, 'utf8'), file)
      return file
    })
  })
  t.strictSame(
    shown.toSorted(),
    readdirSync(folder)
      .map(name => `${folder}/${name}`)
      .toSorted(),
  )
})
