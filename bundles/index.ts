import type { Bundle } from '../kernel/bundle.ts'
import { frameworkBundle } from './framework/framework-bundle.ts'
import { siteBundle } from './site/site-bundle.ts'

/** The bundles of the application, in the order in which they are registered. Add yours at the end. */
export const bundles: readonly Bundle[] = [frameworkBundle, siteBundle]
