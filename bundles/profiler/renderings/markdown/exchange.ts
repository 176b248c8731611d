import { formatDuration } from '../../format/format-duration.ts'
import { formatMoment, formatSize } from '../../format/format-soft.ts'
import { asList, asNumber, asObject, asObjects, asText, asTexts } from '../../reading/read-soft.ts'
import type { Section } from './section.ts'
import { toJsonBlock, toList, toSpan, toValueSpan } from './text.ts'

/** What was asked and answered, the session, and the redirects that led here. */
export const exchangeSection: Section = {
  panel: 'request',
  write({ profile: { data } }, limit) {
    const request = asObject(data.request)
    const response = asObject(data.response)
    return [
      '## Request',
      ...writePairs('Query', request.query, limit),
      ...writePairs('Headers', request.headers, limit),
      ...writeBody(asObject(request.body), limit),
      ...writePairs('Attributes', request.attributes, limit),
      ...writeRedirects(data.redirects, limit),
      '## Response',
      `Body: ${formatSize(response.size) || 'size not known'}${response.isStreamed === true ? ', streamed' : ''}`,
      ...writePairs('Headers', response.headers, limit),
      ...writeSession(asObject(data.session), limit),
    ]
  },
}

type Data = Readonly<Record<string, unknown>>

function writePairs(title: string, pairs: unknown, limit: number): string[] {
  const known = asList(pairs).filter(pair => Array.isArray(pair))
  if (known.length === 0) return []
  return [`### ${title}`, toList(known, limit, ([name, value]) => `${toValueSpan(name)}: ${toValueSpan(value)}`)]
}

function writeBody(body: Data, limit: number): string[] {
  if (Object.keys(body).length === 0) return []
  const { files, form, json, length, note, state, type } = body
  const facts = [toSpan(asText(type)), formatSize(length) || 'of unknown length', `state ${toValueSpan(state)}`]
  const uploads = asObjects(files)
  const [value] = asList(json)
  return [
    '### Body',
    facts.join(', '),
    ...(note === undefined ? [] : [toValueSpan(note)]),
    ...(asList(json).length === 0 ? [] : [toJsonBlock(value)]),
    ...writePairs('Form', form, limit),
    ...(uploads.length === 0
      ? []
      : [
          '### Files',
          toList(uploads, limit, ({ field, name, size, type }) =>
            [toValueSpan(field), toValueSpan(name), toValueSpan(type), formatSize(size)].join(', '),
          ),
        ]),
  ]
}

function writeRedirects(data: unknown, limit: number): string[] {
  const redirects = asObjects(data)
  if (redirects.length === 0) return []
  const list = toList(
    redirects,
    limit,
    ({ method, status, token, url }) =>
      `${asNumber(status)} ${toValueSpan(method)} ${toValueSpan(url)}, record ${toValueSpan(token)}`,
  )
  return ['### Came by redirects', list]
}

function writeSession(session: Data, limit: number): string[] {
  if (Object.keys(session).length === 0) return []
  const { createdAt, lastUsedAt, lifetime } = asObject(session.metadata)
  const facts = [
    `- Uses: ${asNumber(session.useCount)}`,
    `- Stateless: ${session.isStateless === true ? 'yes' : 'no'}`,
    ...(formatMoment(createdAt) === '' ? [] : [`- Created: ${formatMoment(createdAt)}`]),
    ...(formatMoment(lastUsedAt) === '' ? [] : [`- Last used: ${formatMoment(lastUsedAt)}`]),
    ...(typeof lifetime === 'number' ? [`- Lifetime: ${lifetime} seconds`] : []),
  ]
  const uses = asObjects(session.uses)
  return [
    '## Session',
    facts.join('\n'),
    ...writePairs('Session attributes', Object.entries(asObject(session.attributes)), limit),
    ...writePairs('Flashes', Object.entries(asObject(session.flashes)), limit),
    ...(uses.length === 0 ? [] : ['### Session uses', toList(uses, limit, writeUse)]),
  ]
}

function writeUse({ at, method, trace }: Data): string {
  const [site = ''] = asTexts(trace)
  return `+${formatDuration(asNumber(at))} ${toValueSpan(method)} ${toSpan(site)}`
}
