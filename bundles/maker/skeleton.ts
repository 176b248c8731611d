import { readFileSync } from 'node:fs'
import path from 'node:path'
import { orderImports } from './imports.ts'
import type { Name } from './name.ts'

/** What stands in a skeleton, and what takes its place. */
export type Replacements = Readonly<Record<string, string>>

/** The replacements of the bundle `acme-shop`. */
export function replaceBundle({ camel, kebab }: Pick<Name, 'camel' | 'kebab'>): Replacements {
  return { 'acme-shop': kebab, acmeShop: camel }
}

/** The replacements of what is made, which is called `sample-name`. */
export function replaceName({ camel, kebab, pascal, snake, title }: Name): Replacements {
  return { 'sample-name': kebab, sampleName: camel, SampleName: pascal, sample_name: snake, 'Sample name': title }
}

/** Makes a file of a skeleton: its names are replaced, and imports put into their order. */
export function fillSkeleton(directory: string, skeleton: string, replacements: Replacements): string {
  const text = readFileSync(path.join(directory, 'bundles/maker/skeletons', skeleton), 'utf8')
  // At once, so that nothing is replaced twice; `createSampleEvent()` before `createSampleEvent`.
  const known = Object.keys(replacements).sort((one, other) => other.length - one.length)
  const pattern = new RegExp(known.map(word => word.replace(/[().]/g, '\\$&')).join('|'), 'g')
  return orderImports(text.replace(pattern, word => String(replacements[word])))
}
