import { describeValue, isClass, isKeyed, isPlainObject } from '../../lib/text/describe-value.ts'
import { findShapeMistakes } from '../../lib/text/mistakes.ts'
import { type Bundle, bundleShape } from '../bundle.ts'
import {
  KERNEL_BUNDLE_INVALID,
  KERNEL_BUNDLE_KEY_INVALID,
  KERNEL_BUNDLE_REPEATED,
  KERNEL_BUNDLES_MISSING,
} from '../errors.ts'

/**
 * Returns the list of bundles. Node runs TypeScript without a check of types, so it may contain other values.
 *
 * @throws KERNEL_BUNDLE_INVALID KERNEL_BUNDLE_KEY_INVALID KERNEL_BUNDLE_REPEATED
 */
export function checkBundles(bundles: unknown): readonly Bundle[] {
  if (!Array.isArray(bundles)) throw new KERNEL_BUNDLES_MISSING([describeValue(bundles)])
  for (const [index, bundle] of bundles.entries()) {
    if (!isBundle(bundle)) {
      throw new KERNEL_BUNDLE_INVALID([index + 1, describeValue(bundle), adviseOnBundle(bundle)])
    }
    const mistake =
      findShapeMistakes('key', bundle, bundleShape)[0] ?? findSettingsMistake(bundle) ?? findDefaultsMistake(bundle)
    if (mistake !== undefined) throw new KERNEL_BUNDLE_KEY_INVALID([bundle.name, mistake])
  }
  const names = bundles.map(({ name }) => name)
  const second = names.findIndex((name, index) => names.indexOf(name) < index)
  const [name] = names.slice(second)
  if (second !== -1) throw new KERNEL_BUNDLE_REPEATED([names.indexOf(name) + 1, second + 1, name])
  return bundles
}

function isBundle(value: unknown): value is Bundle {
  const { name, register } = Object(value) as { readonly [property: string]: unknown }
  return typeof name === 'string' && name !== '' && typeof register === 'function'
}

function findSettingsMistake({ settings }: Bundle): string | undefined {
  if (settings === undefined || (typeof settings.check === 'function' && isKeyed(settings.definitions)))
    return undefined
  return `"settings" must be the result of defineSettings(), not ${describeValue(settings)}`
}

function findDefaultsMistake({ routeDefaults = [] }: Bundle): string | undefined {
  const wrong = routeDefaults.find(name => !name.startsWith('_'))
  return wrong === undefined ? undefined : `"routeDefaults" has "${wrong}": names for listeners begin with "_"`
}

/** A sentence on how the value of a list becomes a bundle; empty if that is not known. */
function adviseOnBundle(value: unknown): string {
  if (typeof value === 'function') {
    const call = `${value.name}()`
    return isClass(value) ? ` Create an object of the class: new ${call}.` : ` Call the function: ${call}.`
  }
  if (value instanceof Promise) return ' Write await before the call that gives the promise.'
  if (Object.prototype.toString.call(value) === '[object Module]') {
    return ` Import an export of the module: import { ${Object.keys(Object(value))[0]} }.`
  }
  const [mistake = ''] = isPlainObject(value) ? findShapeMistakes('key', value, bundleShape) : []
  return mistake && ` In it, ${mistake}.`
}
