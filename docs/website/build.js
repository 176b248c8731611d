// `npm run docs`: builds the documentation as a website in var/docs. Options are those of Eleventy: `--serve` serves it
// on this machine and follows changes. This file installs the generator first if it is missing.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'

const folder = import.meta.dirname
const root = path.join(folder, '../..')
const generator = path.join(folder, 'node_modules/@11ty/eleventy/cmd.cjs')

function run(command, options, directory) {
  return spawnSync(command, options, { cwd: directory, stdio: 'inherit' }).status === 0
}

function install() {
  console.error('Installing the generator into docs/website/node_modules, once …')
  return run('npm', ['ci', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund'], folder)
}

const options = ['--config=docs/website/eleventy.config.js', '--quiet', ...process.argv.slice(2)]
const isBuilt = (existsSync(generator) || install()) && run(process.execPath, [generator, ...options], root)
if (isBuilt) console.error('Built. Start with var/docs/index.html; the search needs a web server, such as --serve.')
process.exitCode = isBuilt ? 0 : 1
