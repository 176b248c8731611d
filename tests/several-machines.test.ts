import { readFileSync } from 'node:fs'
import { t } from 'tap'

const guide = readFileSync('docs/guides/several-machines.md', 'utf8')

t.test('the guide sets settings that exist', async t => {
  const reference = readFileSync('docs/reference/configuration.md', 'utf8')
  const blocks = [...guide.matchAll(/```(?:ini|yaml)\n([\s\S]*?)```/g)].map(([, text = '']) => text)
  const names = blocks.flatMap(text => [...text.matchAll(/^ *([A-Z_]+)[=:]/gm)].map(([, name = '']) => name))
  t.ok(names.length > 12)
  t.strictSame(
    names.filter(name => !reference.includes(`| \`${name}\` |`)),
    [],
  )
})
