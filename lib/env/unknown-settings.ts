import { parse } from 'valibot'
import type { Logger } from '../log/logger.ts'
import { suggestNames } from '../text/nearest-names.ts'
import { createSettingsSchema, shippedSecret } from './settings.ts'

/** A variable of a `.env` file that is no setting. */
interface UnknownSetting {
  readonly name: string
  /** The end of a sentence: `; the nearest is "APP_HOSTS"`, or nothing. */
  readonly suggestion: string
}

/** Warns of the variables of `.env` files that nothing reads: a mistyped name leaves a setting as it is, without a word. */
export function warnOfUnknownSettings(dotenvNames: readonly string[], logger: Pick<Logger, 'warning'>): void {
  for (const { name, suggestion } of findUnknownSettings(dotenvNames)) {
    logger.warning('A .env file sets {name}, which no setting has as its name{suggestion}.', { name, suggestion })
  }
}

/** Finds the variables of `.env` files that nothing reads. Those of the process are not looked at: it has many for others. */
function findUnknownSettings(dotenvNames: readonly string[]): UnknownSetting[] {
  // The schema gives each setting a value, also where there is none.
  const settingNames = Object.keys(parse(createSettingsSchema(), { APP_SECRET: shippedSecret }))
  const unknown = dotenvNames.filter(name => !settingNames.includes(name))
  return unknown.map(name => ({ name, suggestion: suggestNames(name, settingNames) }))
}
