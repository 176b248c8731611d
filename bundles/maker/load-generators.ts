import { loadOptional } from '../../lib/optional-packages.ts'
import { MAKER_PACKAGES_MISSING } from './errors.ts'

/** Loads the generators, which need a parser. @throws MAKER_PACKAGES_MISSING PACKAGE_VERSION_UNFIT */
export function loadGenerators(load = () => import('./generators.ts')): Promise<typeof import('./generators.ts')> {
  return loadOptional({
    feature: 'A generator',
    packages: ['acorn', '@sveltejs/acorn-typescript'],
    load,
    missing: (packages, cause) => new MAKER_PACKAGES_MISSING([packages], { cause }),
  })
}
