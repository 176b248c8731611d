import { mask } from './mask.ts'
import type { NameTest } from './secret-names.ts'

const openTag = /<([A-Za-z_][\w.:-]{0,100})(\s[^<>]{0,300})?>/g
const namingAttribute = /\s(?:name|key|id|property)\s?=\s?["']?([^\s"'>]{1,100})/gi
/** Characters within which the end of an element with children is searched. */
const contentLimit = 2000

/** Masks what is in elements of secret names: `<password>x</password>`, `<param name="apiKey">x</param>`. */
export function maskElements(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const { 0: tag, 1: name = '', 2: attributes = '', index } of text.matchAll(openTag)) {
    const start = index + tag.length
    if (index < done || !(isSecret(name) || namesOf(attributes).some(isSecret))) continue
    const end = findContentEnd(text, name, start)
    if (text.slice(start, end).trim() === '') continue
    masked += text.slice(done, start) + mask
    done = end
  }
  return masked + text.slice(done)
}

function namesOf(attributes: string): string[] {
  return Array.from(attributes.matchAll(namingAttribute), ([, name = '']) => name)
}

/** Nothing is masked where no tag follows: `Usage: login <password>`. */
function findContentEnd(text: string, name: string, start: number): number {
  const close = text.slice(start, start + contentLimit).indexOf(`</${name}`)
  if (close !== -1) return start + close
  const next = text.indexOf('<', start)
  return text.charAt(next + 1) === '/' ? next : start
}
