import { readFileSync } from 'node:fs'
import { t } from 'tap'
import { readGuideCode } from './support/guide-code.ts'

t.test('the code of a guide is what the tests run, all of it and in its order', async t => {
  for (const name of ['testing', 'errors']) {
    const files = readGuideCode(readFileSync(`docs/guides/${name}.md`, 'utf8'))
    t.ok(files.size > 0, name)
    for (const [path, code] of files) {
      t.match(path, /^tests\/guides\/[a-z-]+\.test\.ts$/, `${name}: every block is run`)
      t.equal(code, readFileSync(path, 'utf8'), path)
    }
  }
})
