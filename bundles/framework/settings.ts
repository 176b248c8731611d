import { type BundleSettings, defineSettings } from '../../lib/env/define-settings.ts'
import { asRedisUrl } from '../../lib/redis/redis-url.ts'
import { asFlag, asListOf, type Conversion } from '../../lib/text/conversion.ts'
import type { AccelRedirect } from './listeners/accel-redirect-listener.ts'

/** The values of the settings of the framework bundle. */
export interface FrameworkSettings {
  /** Whether a line is logged for each request. By default only in production. */
  readonly ACCESS_LOG: boolean | undefined
  readonly ACCEL_REDIRECT: readonly AccelRedirect[]
  /** The Redis that stores the sessions of several machines. By default they are files in `var/sessions`. */
  readonly SESSION_URL: string | undefined
}

const asAccelRedirect: Conversion<AccelRedirect> = {
  expected: 'a folder and a location of nginx such as var/uploads=/_uploads',
  convert(text) {
    const [, folder, location] = /^([^=]*[^=/])\/*=(\/[\w/.~-]*[\w.~-])\/*$/.exec(text) ?? []
    return folder === undefined || location === undefined ? undefined : { folder, location }
  },
}

/** The settings of the framework bundle. */
export const frameworkSettings: BundleSettings<FrameworkSettings> = defineSettings({
  ACCESS_LOG: {
    help: 'logs a line for each request; by default in production only',
    schema: asFlag,
    default: undefined,
  },
  ACCEL_REDIRECT: {
    help: 'folders whose files nginx sends for controllers, with its internal locations: var/uploads=/_uploads',
    schema: asListOf(asAccelRedirect),
    default: [],
  },
  SESSION_URL: {
    help: 'stores the sessions of several machines in Redis: redis://host:6379, or rediss:// for TLS',
    schema: asRedisUrl,
    default: undefined,
    secret: true,
  },
})
