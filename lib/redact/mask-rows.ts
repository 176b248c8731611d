import { mask, type NameTest } from './secret-names.ts'

/** Characters in which the end of columns and of their values is looked for. */
const columnReach = 500
const valueReach = 4000

/**
 * Masks the values of rows in the messages of databases: `Key (email)=(x@y.z) already exists.` and `Duplicate entry 'x' for
 * key 'users.email'` by the names of their columns, and `Failing row contains (1, x, …)` and the values of parameters
 * (`$1 = 'x'`) in any case, because their names are not known.
 */
export function maskRows(text: string, isSecret: NameTest): string {
  if (!/[ =]\(|\$\d|entry '/i.test(text)) return text
  const masked = maskKeys(text, isSecret)
    .replace(/(\brow contains \()(?:[\s\S]{1,4000}(?=\)\.(?:["\r\n]|$))|[\s\S]{1,4000})/gi, `$1${mask}`)
    .replace(/(\$\d{1,5} = ')(?:[^']|''){1,4000}(?=')/g, `$1${mask}`)
  return masked.replace(
    /(\bduplicate entry ')([\s\S]{1,1000}?)(?=' for key '([^'\r\n]{1,200})')/gi,
    (entry, start, _value, key) => (namesSecret(key, isSecret) ? `${start}${mask}` : entry),
  )
}

const key = /\bkey \(/gi
const keyEnd = /\)(?= (?:already exists|is not present|is still referenced|is duplicated|conflicts with)|\.?$)/

function maskKeys(text: string, isSecret: NameTest): string {
  let masked = ''
  let done = 0
  for (const { 0: start, index } of text.matchAll(key)) {
    if (index < done) continue
    const from = index + start.length
    const columns = text.slice(from, from + columnReach).indexOf(')=(')
    if (columns === -1 || !namesSecret(text.slice(from, from + columns), isSecret)) continue
    const values = from + columns + ')=('.length
    const length = text.slice(values, values + valueReach).search(keyEnd)
    if (length === 0) continue
    masked += text.slice(done, values) + mask
    done = length === -1 ? Math.min(text.length, values + valueReach) : values + length
  }
  return masked + text.slice(done)
}

function namesSecret(columns: string, isSecret: NameTest): boolean {
  return (columns.match(/[\w-]+/g) ?? []).some(isSecret)
}
