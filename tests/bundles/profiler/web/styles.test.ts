import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

const folder = path.resolve('bundles/profiler/assets/styles')

const declarations = readdirSync(folder).flatMap(file =>
  [...readFileSync(path.join(folder, file), 'utf8').matchAll(/^ +([\w-]+):\s([^;]+);$/gm)].map(
    ([, property = '', value = '']) => ({ file, property, value, text: `${file}: ${property}: ${value}` }),
  ),
)

t.test('each size of type is one of the scale', async t => {
  const sizes = declarations.filter(({ property }) => property === 'font' || property === 'font-size')
  const isOnScale = ({ value }: { readonly value: string }) =>
    /var\(--(?:label|small|body|title|headline)\)|inherit/.test(value)
  t.strictSame(
    sizes.filter(size => !isOnScale(size)).map(({ text }) => text),
    [],
  )
  t.ok(sizes.length > 100)
})

t.test('each space up to 2 rem is a step of the scale', async t => {
  const spaces = declarations.filter(({ property }) => /^(?:padding|margin|gap|row-gap|column-gap)/.test(property))
  const isOnScale = ({ value }: { readonly value: string }) =>
    /calc|clamp|min/.test(value) || [...value.matchAll(/([\d.]+)rem/g)].every(([, size]) => Number(size) > 2)
  t.strictSame(
    spaces.filter(space => !isOnScale(space)).map(({ text }) => text),
    [],
  )
  t.ok(spaces.length > 300)
})

t.test('each custom property that is used has a value', async t => {
  const known = new Set(declarations.map(({ property }) => property))
  const used = declarations.flatMap(({ file, value }) =>
    [...value.matchAll(/var\((--[\w-]+)(,)?/g)].map(([, name = '', hasDefault]) => ({ file, name, hasDefault })),
  )
  const unknown = used.filter(({ hasDefault, name }) => hasDefault === undefined && !known.has(name))
  t.strictSame(unknown, [])
})
