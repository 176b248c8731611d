import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Bundle } from 'sinfonietta'
import { siteBundle } from '#bundles/site/site-bundle.ts'

/** Writes files of an application, by their names, in its directory; returns the directory. */
export function createProject(directory: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return directory
}

/** The site, also for applications in other directories: it names its folders, as the bundle of a package does. */
export const portableSite: Bundle = {
  ...siteBundle,
  templates: path.resolve('templates/site'),
  assets: path.resolve('bundles/site/assets'),
}
