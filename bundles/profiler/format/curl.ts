import type { Profile } from '../profile.ts'
import { asList, asObject, asObjects } from '../reading/read-soft.ts'
import { formatText } from './format-soft.ts'
import { quoteForShell } from './shell-quote.ts'

/**
 * Writes the curl command that makes a recorded request again, an option a line. What was
 * masked stays masked, and has to be filled in by hand; bodies that were not kept, and files, are named as such.
 */
export function createCurl({ data, summary }: Pick<Profile, 'data' | 'summary'>): string {
  const { method, url } = asObject(summary)
  const request = asObject(asObject(data).request)
  const headers = asList(request.headers)
    .filter(field => Array.isArray(field))
    .map(([name, value]): Field => [formatText(name), formatText(value)])
  const content = describeContent(asObject(request.body))
  const lines = [
    `curl ${writeMethod(formatText(method), content.options.length > 0)}${quoteForShell(formatText(url))}`,
    ...writeTarget(formatText(url)),
    ...headers.filter(([name]) => !content.drops(name.toLowerCase())).flatMap(writeHeader),
    ...content.options,
  ]
  return lines.join(' \\\n  ')
}

/** Writes what is known of an outgoing request as a curl command: neither headers nor bodies are recorded. */
export function createCallCurl({ method, url }: { readonly method: string; readonly url: string }): string {
  return [`curl ${writeMethod(method, false)}`.trim(), ...writeTarget(url), '--url', quoteForShell(url)].join(' ')
}

type Field = readonly [name: string, value: string]

/** curl sets them itself, rightly. */
const ownHeaders: ReadonlySet<string> = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'expect'])

/** curl sends GET by itself, and POST once there is a body; to HEAD nobody must wait for one. */
function writeMethod(method: string, hasBody: boolean): string {
  if (method === 'HEAD') return '--head '
  return method === (hasBody ? 'POST' : 'GET') || method === '' ? '' : `--request ${quoteForShell(method)} `
}

/** Addresses are taken as they are: `[1-3]` is no range, `/../` no way up. */
function writeTarget(url: string): string[] {
  return [...(/[[\]{}]/.test(url) ? ['--globoff'] : []), ...(/\/\.\.?(?:[/?#]|$)/.test(url) ? ['--path-as-is'] : [])]
}

function writeHeader([name, value]: Field): string[] {
  if (name.toLowerCase() === 'accept-encoding') return ['--compressed']
  // Without a value it would be left away.
  return [`--header ${quoteForShell(value === '' ? `${name};` : `${name}: ${value}`)}`]
}

function describeContent(body: Readonly<Record<string, unknown>>): {
  readonly options: readonly string[]
  readonly drops: (header: string) => boolean
} {
  const json = asList(body.json)
  const form = asList(body.form).filter(pair => Array.isArray(pair))
  const files = asObjects(body.files)
  const drops = (header: string) => ownHeaders.has(header)
  if (json.length > 0) return { options: [`--data-raw ${quoteForShell(String(JSON.stringify(json[0])))}`], drops }
  if (body.type === 'multipart/form-data' || files.length > 0) {
    const fields = form.map(
      ([name, value]) => `--form-string ${quoteForShell(`${formatText(name)}=${formatText(value)}`)}`,
    )
    const uploads = files.map(
      ({ field, name }) => `--form ${quoteForShell(`${formatText(field)}=@${writeFile(formatText(name))}`)}`,
    )
    // It names a boundary, which is another one each time.
    return { options: [...fields, ...uploads], drops: header => drops(header) || header === 'content-type' }
  }
  if (form.length > 0) return { options: [`--data-raw ${quoteForShell(serializeForm(form))}`], drops }
  return { options: [], drops }
}

/** curl ends a name at a comma or semicolon, unless it is quoted once more. */
function writeFile(name: string): string {
  return `"${name.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}

/** As a browser sends it. */
export function serializeForm(form: readonly unknown[]): string {
  const parameters = new URLSearchParams()
  for (const pair of form) if (Array.isArray(pair)) parameters.append(formatText(pair[0]), formatText(pair[1]))
  return parameters.toString()
}
