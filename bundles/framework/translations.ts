import type { Foundation } from '../../kernel/bundle.ts'
import type { CommandSource } from '../../kernel/contracts/console-command.ts'
import { ARGUMENT_INVALID, checkOptions } from '../../lib/errors/arguments.ts'
import { describeValue, isKeyed } from '../../lib/text/describe-value.ts'

/** The options of {@link createTranslationCommand}. */
export interface TranslationOptions {
  /** The texts of each language, by their keys. A key of a nested text has dots: `cart.empty`. */
  readonly texts: Readonly<Record<string, object>>
  /** The helper that translates in templates; `t` by default. */
  readonly helper?: string
}

/**
 * Creates the command `debug:translation` for `app.commands`: the keys that templates or sources use
 * and a language lacks, also forms of its plurals, and keys that nothing uses. @throws ARGUMENT_INVALID
 */
export function createTranslationCommand(
  app: Pick<Foundation, 'directory' | 'view'>,
  options: TranslationOptions,
): CommandSource {
  checkOptions('createTranslationCommand(app, options)', options, { texts: 'object', helper: 'string' })
  const { helper = 't', texts = {} } = options ?? {}
  const [mistake] = Object.keys(texts).length === 0 ? [noTexts] : Object.entries(texts).flatMap(findMistake)
  if (mistake !== undefined) throw new ARGUMENT_INVALID(['createTranslationCommand(app, options)', mistake])
  // A server loads none of it.
  return async () => [(await import('./translation-command.ts')).createDebugTranslation(app, { helper, texts })]
}

const noTexts = 'it needs the texts of a language: { texts: { en: … } }'

function findMistake([language, content]: readonly [string, unknown]): string | [] {
  if (!isKeyed(content)) return `the texts of "${language}" are an object with keys, not ${describeValue(content)}`
  const [[key, inner] = [], ...others] = Object.entries(content)
  if (key === 'translation' && others.length === 0 && isKeyed(inner))
    return `the texts of "${language}" are in its "translation": this is the form of i18next, pass the object in it`
  try {
    Intl.getCanonicalLocales(language)
    return []
  } catch {
    return `"${language}" is not a language, such as "de" or "pt-BR"`
  }
}
