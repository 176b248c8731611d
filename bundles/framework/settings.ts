import { type BundleSettings, defineSettings } from '../../lib/env/define-settings.ts'
import { asFlag } from '../../lib/text/conversion.ts'

/** The values of the settings of the framework bundle. */
export interface FrameworkSettings {
  /** Whether a line is logged for each request. By default only in production. */
  readonly ACCESS_LOG: boolean | undefined
}

/** The settings of the framework bundle. */
export const frameworkSettings: BundleSettings<FrameworkSettings> = defineSettings({
  ACCESS_LOG: {
    help: 'logs a line for each request; by default in production only',
    schema: asFlag,
    default: undefined,
  },
})
