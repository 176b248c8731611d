import { type Config, readConfig } from '#lib/env/config.ts'
import { Settings } from '#lib/env/settings.ts'

/** Reads the kernel's own settings. @throws CONFIG_INVALID */
export function parseConfig(variables: Readonly<Record<string, string>>): Config {
  const settings = new Settings({ variables })
  const config = readConfig(settings)
  settings.check()
  return config
}
