import { serializeForm } from '../profile/form-body.ts'
import { formatText } from '../profile/format-value.ts'
import type { Profile } from '../profile/profile.ts'
import { asList, asObject, asObjects } from '../profile/read-soft.ts'

/**
 * Writes the JavaScript that makes a recorded request again with `fetch()`, for Node and for a browser's console. What
 * was masked stays masked, and has to be filled in by hand; files are named, and empty.
 */
export function toFetch({ data, summary }: Pick<Profile, 'data' | 'summary'>): string {
  const { method, url } = asObject(summary)
  const request = asObject(asObject(data).request)
  const body = asObject(request.body)
  const name = formatText(method) || 'GET'
  const canHaveBody = name !== 'GET' && name !== 'HEAD'
  const isMultipart = body.type === 'multipart/form-data' || asObjects(body.files).length > 0
  const content = canHaveBody ? writeContent(body, isMultipart) : ''
  const headers = asList(request.headers)
    .filter(field => Array.isArray(field))
    .map(([name, value]) => [formatText(name), formatText(value)] as const)
    .filter(([name, value]) => isSendable(name, value) && !(isMultipart && isContentType(name)))
  const lines = [
    ...(canHaveBody && isMultipart ? writeForm(body) : []),
    ...(!canHaveBody && hasContent(body) ? [`// With ${name}, fetch() sends no body.`] : []),
    `const response = await fetch(${quote(formatText(url))}, {`,
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

/** What fetch sets itself, refuses, or would send a second time. */
const ownHeaders =
  /^(?:host|connection|content-length|transfer-encoding|expect|keep-alive|upgrade|te|trailer|accept-encoding|sec-fetch-.*|:.*)$/i

/** A header that was cut may have become one that cannot be sent. */
function isSendable(name: string, value: string): boolean {
  return /^[\w!#$%&'*+.^`|~-]+$/.test(name) && !ownHeaders.test(name) && /^[\t -~\u0080-\u00ff]*$/.test(value)
}

function isContentType(name: string): boolean {
  return name.toLowerCase() === 'content-type'
}

function hasContent({ files, form, json }: Readonly<Record<string, unknown>>): boolean {
  return asList(json).length + asList(form).length + asList(files).length > 0
}

function writeContent({ form, json }: Readonly<Record<string, unknown>>, isMultipart: boolean): string {
  if (isMultipart) return 'form'
  const value = asList(json)
  if (value.length > 0) return quote(String(JSON.stringify(value[0])))
  return asList(form).length > 0 ? quote(serializeForm(asList(form))) : ''
}

function writeForm({ files, form }: Readonly<Record<string, unknown>>): string[] {
  const fields = asList(form).filter(pair => Array.isArray(pair))
  return [
    'const form = new FormData()',
    ...fields.map(([name, value]) => `form.append(${quote(formatText(name))}, ${quote(formatText(value))})`),
    ...asObjects(files).map(({ field, name, type }) => {
      const blob = `new Blob([], { type: ${quote(formatText(type))} })`
      return `form.append(${quote(formatText(field))}, ${blob}, ${quote(formatText(name))})`
    }),
  ]
}

/** As a literal of JavaScript that reads as it is: what is not seen, or turns the direction, is escaped. */
function quote(text: string): string {
  return JSON.stringify(text).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, toUnits)
}

/** A character above U+FFFF is two units. */
function toUnits(character: string): string {
  const units = character.split('').map(unit => unit.charCodeAt(0).toString(16).padStart(4, '0'))
  return units.map(unit => `\\u${unit}`).join('')
}
