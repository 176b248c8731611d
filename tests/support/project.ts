import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'

/** Makes a project in a directory: our templates and assets, and templates of the test's own by their names. */
export function createProject(directory: string, templates: Readonly<Record<string, string>>): string {
  for (const folder of ['templates', 'bundles']) {
    cpSync(folder, path.join(directory, folder), { recursive: true })
  }
  for (const [name, text] of Object.entries(templates)) {
    const file = path.join(directory, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  return directory
}

/** Makes the directory of a project with our templates and assets, and a `var` of its own. */
export function linkProject(t: Test): string {
  return t.testdir({
    templates: t.fixture('symlink', path.resolve('templates')),
    bundles: t.fixture('symlink', path.resolve('bundles')),
  })
}
