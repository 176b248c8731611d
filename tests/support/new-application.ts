import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { createApplication } from '#bin/package/new-application.ts'
import { createTarball } from './tarball.ts'

/**
 * Creates an application like `sinfonietta new`, where no other project is around it. Its packages
 * are those of this repository.
 */
export function makeApplication(t: Test): string {
  const parent = mkdtempSync(path.join(tmpdir(), 'sinfonietta-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true }))
  const directory = path.join(parent, 'my-site')
  createApplication(directory, 'file:linked')
  const packages = path.join(directory, 'node_modules')
  mkdirSync(path.join(packages, '@types'), { recursive: true })
  for (const name of ['@types/node', 'typescript'])
    symlinkSync(path.resolve('node_modules', name), path.join(packages, name))
  symlinkSync(path.resolve('.'), path.join(packages, 'sinfonietta'))
  return directory
}

/**
 * Creates an application for `npm install`. Its package sinfonietta has only the manifest, which
 * names the other packages: to make the whole package takes longer.
 */
export function createInstallable(t: Test): string {
  const parent = mkdtempSync(path.join(tmpdir(), 'installable-'))
  t.teardown(() => rmSync(parent, { recursive: true, force: true, maxRetries: 5 }))
  const { scripts, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
  const content = Buffer.from(JSON.stringify(manifest))
  const tarball = createTarball([{ path: 'package.json', content, isExecutable: false }])
  writeFileSync(path.join(parent, 'package.tgz'), tarball)
  const directory = path.join(parent, 'my-site')
  createApplication(directory, 'file:../package.tgz')
  return directory
}
