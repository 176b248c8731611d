import { mask } from './mask.ts'
import { isSecretName } from './secret-names.ts'

/**
 * Masks the text literals of a program that stand for a secret by the name before them: `const apiKey = '…'`,
 * `password: "…"`, `env.TOKEN ?? '…'`, `set('x-api-key', '…')`. One whose end is out of sight is masked to the end of
 * its line. Takes linear time.
 */
export function maskSource(source: string): string {
  return source.replace(
    literalWithName,
    (found, name: string, between: string, quote: string, value: string, end: string) =>
      value === '' || !isSecretName(name) ? found : `${name}${between}${quote}${mask}${end}`,
  )
}

/** Every repetition is bounded, so that no line takes long: the name, what may be its type, an operator, the literal. */
const literalWithName =
  /(?<![\w$-])([\w$-]{1,100})(["'`]?[)\]]?\s{0,9}(?::\s{0,9}[\w<>[\]| ]{1,40})?(?:[:=]|[=!]==?|\?\?=?|\|\|=?|(?<=["'`]),)\s{0,9})(["'`])((?:\\.|(?!\3)[^\\\r\n])*)(\3|$)/gm
