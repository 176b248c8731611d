import { createInstance } from 'i18next'
import { type Bundle, createTranslationCommand, type Request } from 'sinfonietta'
import { german } from './german.ts'

/** The options of a group of pages in two languages: English ones have no prefix. */
export const inLanguages = { prefix: '{/:_locale}', defaults: { _locale: 'en' }, requirements: { _locale: 'de' } }

// A text without a translation is shown as it is. Templates escape the result.
const i18n = createInstance({
  resources: { de: { translation: german } },
  keySeparator: false,
  nsSeparator: false,
  interpolation: { escapeValue: false },
  initAsync: false,
})
void i18n.init()

/** Translates an English text into the language of a page. */
export function translate(request: Request | undefined, text: string, values: object = {}): string {
  return i18n.t(text, { lng: request?.attributes.get('_locale') ?? 'en', ...values })
}

/** Gives templates the helper `t`. */
export const textsBundle: Bundle = {
  name: 'texts',
  register(app) {
    app.view.addHelper('t', ({ named, positional: [text], request }) => translate(request, String(text), named))
    app.view.addGlobal('language', request => request.attributes.get('_locale') ?? 'en')
    app.commands.push(createTranslationCommand(app, { texts: { de: german } }))
  },
}
