import { looksRandom } from './mask-text.ts'
import { isSecretName, mask } from './secret-names.ts'

/**
 * Masks the words of a command of another program that may be secrets, by their places, because the programs are not
 * known: words behind one with a secret name, behind an option such as `-p`, what `echo` writes into a pipe, and words
 * that look random.
 */
export function maskChildWords(words: readonly string[]): string[] {
  let begin = 0
  let isNamed = false
  return words.map((word, index) => {
    const before = words[index - 1] ?? ''
    if (endOfCommand.test(before)) {
      begin = index
      isNamed = false
    }
    const name = index === begin ? word.slice(word.lastIndexOf('/') + 1) : word
    const isOption = word.startsWith('-')
    if (index === begin && /^(?:echo|printf)$/.test(name)) {
      isNamed = words.slice(index).find(each => endOfCommand.test(each)) === '|'
      return word
    }
    const start = wordStart.exec(word)?.[0] ?? ''
    const value = word.slice(start.length)
    const isHidden =
      (isNamed && (!isOption || start !== '')) ||
      (passwordOption.test(before) && !word.includes('/')) ||
      before === '<<<'
    const isSecret = index > begin && !ordinaryWord.test(value) && (isHidden || looksRandom(value))
    isNamed ||= !isOption && !ordinaryWord.test(name) && (isSecretName(name) || opensSecrets.test(name))
    return isSecret && value !== '' && !endOfCommand.test(word) ? `${start}${mask}` : word
  })
}

/** Words of programs behind which secrets are: `vault login x`. Others have secret names, such as `passwd`. */
const opensSecrets = /^(?:login|unlock|obscure|add_user)$/i
/** Options of one letter that are passwords in many programs; others have a port behind them. */
const passwordOption = /^-(?:[pP]|pw|ap|pass)$/
/** A path, the name of a file, or a number with its unit. */
const ordinaryWord = /^(?:(?:\.{0,2}|~)\/(?!\/)[\w./@+~-]*|[\w./@+-]*\.[a-z][a-z\d]{0,4}|\d[\d.:x]*[a-z%]{0,3})$/i
/** What stays of a word: the letter of an option, or a name. */
const wordStart = /^(?:-[a-z](?![^=]*=)|[^=\s]*=)?/i
const endOfCommand = /^(?:\|\|?|&&?|;)$|;$/
