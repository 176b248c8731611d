import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import Handlebars from 'handlebars'

const root = path.join(import.meta.dirname, '../..')
const templates = path.join(root, 'templates')

/** @type {Readonly<Record<string, string>>} */
const paths = { star_photo_booth: '/star-photo-booth', partnership: '/partnership' }

/** @type {Map<string, string>} */
const assets = new Map()

/**
 * Compiles the site's page for the peers with the options that lib/view has, and with helpers that
 * only look up what was made beforehand: the peers pay for the template and for nothing else.
 *
 * @returns {() => string} renders the page
 */
export function createPage() {
  const handlebars = Handlebars.create()
  handlebars.registerHelper('path', name => paths[name])
  handlebars.registerHelper('asset', name => findAsset(name))
  const knownHelpers = Object.fromEntries(Object.keys(handlebars.helpers).map(name => [name, true]))
  const options = { strict: true, knownHelpers, knownHelpersOnly: true, preventIndent: true }
  for (const file of readdirSync(path.join(templates, 'site'))) {
    const source = readFileSync(path.join(templates, 'site', file), 'utf8')
    handlebars.registerPartial(`site/${path.basename(file, '.hbs')}`, handlebars.compile(source, options))
  }
  const page = handlebars.partials['site/star-photo-booth']
  return () => page({}, { data: {} })
}

/**
 * The URL of a file of the site, with its version: `/assets/1f2e3d4c/site/site.css`.
 *
 * @param {string} name
 */
function findAsset(name) {
  let url = assets.get(name)
  if (url === undefined) {
    const [bundle = '', file = ''] = name.split('/')
    const content = readFileSync(path.join(root, 'bundles', bundle, 'assets', file))
    url = `/assets/${createHash('sha256').update(content).digest('hex').slice(0, 8)}/${name}`
    assets.set(name, url)
  }
  return url
}
