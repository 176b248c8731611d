import type { BodyData } from '../profile/content.ts'
import { serializeForm } from '../profile/content.ts'
import { formatText } from '../profile/format-value.ts'
import type { Profile } from '../profile/profile.ts'

/**
 * Writes JavaScript that repeats a recorded request with `fetch()`, for Node and the console of a browser. Masked
 * values stay masked: the user replaces them. Files have their names, but are empty.
 */
export function toFetch({ collectors, summary }: Pick<Profile, 'collectors' | 'summary'>): string {
  const { method, url } = summary
  const { body, headers: fields = [] } = collectors.request ?? {}
  const name = method || 'GET'
  const canHaveBody = name !== 'GET' && name !== 'HEAD'
  const isMultipart = body?.type === 'multipart/form-data' || (body?.files ?? []).length > 0
  const content = canHaveBody && body !== undefined ? writeContent(body, isMultipart) : ''
  const headers = fields
    .map(([name, value]) => [name, formatText(value)] as const)
    .filter(([name, value]) => isSendable(name, value) && !(isMultipart && isContentType(name)))
  const lines = [
    ...(canHaveBody && isMultipart && body !== undefined ? writeForm(body) : []),
    ...(!canHaveBody && body !== undefined && hasContent(body) ? [`// With ${name}, fetch() sends no body.`] : []),
    `const response = await fetch(${quote(url)}, {`,
    `  method: ${quote(name)},`,
    ...(headers.length === 0
      ? []
      : ['  headers: [', ...headers.map(([name, value]) => `    [${quote(name)}, ${quote(value)}],`), '  ],']),
    ...(content === '' ? [] : [`  body: ${content},`]),
    "  redirect: 'manual',",
    '})',
    'console.log(response.status, await response.text())',
  ]
  return `${lines.join('\n')}\n`
}

/** Headers that `fetch()` sets itself or refuses. */
const ownHeaders =
  /^(?:host|connection|content-length|transfer-encoding|expect|keep-alive|upgrade|te|trailer|accept-encoding|sec-fetch-.*|:.*)$/i

/** Whether `fetch()` accepts a header: one that was cut may be invalid. */
function isSendable(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !ownHeaders.test(name) && /^[\t -~\u0080-\u00ff]*$/.test(value)
}

function isContentType(name: string): boolean {
  return name.toLowerCase() === 'content-type'
}

function hasContent({ files = [], form = [], json }: BodyData): boolean {
  return json !== undefined || form.length + files.length > 0
}

function writeContent({ form = [], json }: BodyData, isMultipart: boolean): string {
  if (isMultipart) return 'form'
  if (json !== undefined) return quote(String(JSON.stringify(json[0])))
  return form.length > 0 ? quote(serializeForm(form)) : ''
}

function writeForm({ files = [], form = [] }: BodyData): string[] {
  return [
    'const form = new FormData()',
    ...form.map(([name, value]) => `form.append(${quote(name)}, ${quote(formatText(value))})`),
    ...files.map(({ field, name, type }) => {
      const blob = `new Blob([], { type: ${quote(type)} })`
      return `form.append(${quote(field)}, ${blob}, ${quote(name)})`
    }),
  ]
}

/** Writes a JavaScript string literal. Invisible characters and those that change the text direction are escaped. */
function quote(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, toUnits)
}

/** A character above U+FFFF becomes two escapes. */
function toUnits(character: string): string {
  const units = character.split('').map(unit => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return units.map(unit => `\\u${unit}`).join('')
}
