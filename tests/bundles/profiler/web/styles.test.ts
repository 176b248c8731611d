import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

const folder = path.resolve('bundles/profiler/assets/styles')

const declarations = readdirSync(folder).flatMap(file =>
  [...readFileSync(path.join(folder, file), 'utf8').matchAll(/^ +([\w-]+):\s([^;]+);$/gm)].map(
    ([, property = '', value = '']) => ({ file, property, value, text: `${file}: ${property}: ${value}` }),
  ),
)

t.test('each text has one of the styles, as a whole', async t => {
  const types = declarations.filter(({ property }) => /^(?:font|letter-spacing|text-transform)/.test(property))
  const isStyle = ({ property, value }: { readonly property: string; readonly value: string }) =>
    property === 'font' && /^(?:inherit|var\(--(?:headline|lead|title|text|label|code|brand)\))$/.test(value)
  t.strictSame(
    types.filter(type => !isStyle(type)).map(({ text }) => text),
    ['base.css: font-variant-numeric: tabular-nums !important', 'cpu.css: font-size: var(--frame)'],
  )
  t.ok(types.length > 80)
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
