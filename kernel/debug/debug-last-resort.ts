import { createHash } from 'node:crypto'
import { errorChain, type FlatError, flattenError } from '../../lib/errors/flat-error.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import { SourceExcerpts } from '../../lib/stack/source-excerpts.ts'
import { locateFrame } from '../../lib/stack/stack-frames.ts'
import { createConstantResponse, type LastResort } from '../last-resort.ts'
import type { DebugGate } from './debug-gate.ts'

interface DebugLastResortServices {
  readonly debugGate: Pick<DebugGate, 'allows'>
  readonly redactor: Redactor
  /** The directory of the application: files are shown as seen from it. */
  readonly directory: string
}

/**
 * Creates the last resort that shows its errors to clients that may see debug output. The page is plain: listeners,
 * controllers and templates are not used, because one of them has just failed. Other clients get the constant response.
 */
export function createDebugLastResort({ debugGate, directory, redactor }: DebugLastResortServices): LastResort {
  const excerpts = new SourceExcerpts(directory, redactor)
  return (request, errors) => {
    if (!debugGate.allows(request)) return createConstantResponse()
    const [first = [], ...later] = errors.map(error =>
      errorChain(flattenError(error, { mask: text => redactor.text(text) })),
    )
    // The kernel appends the first error to the causes of the second error: it is shown only once.
    const isNew = (flat: FlatError) => !first.some(known => known.message === flat.message)
    const parts = [first, ...later.map(chain => chain.filter(isNew))].map((chain, index) => {
      const heading = index === 0 ? '' : '<h2>The error page failed, too</h2>\n'
      const texts = chain.map(flat => describe(flat, { directory, excerpts, redactor }))
      return `${heading}<pre>${escapeHtml(texts.join('\n\nCaused by '))}</pre>\n`
    })
    return toPage(request, parts, redactor)
  }
}

const styles = 'body { font-family: sans-serif } p, pre { overflow-wrap: anywhere } pre { white-space: pre-wrap }'

const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(styles).digest('base64')}'; img-src data:`

function toPage(request: Request, parts: readonly string[], redactor: Redactor): Response {
  // The URL is masked alone: masking recognises the query of a URL only if the text begins with the URL.
  const requestLine = escapeHtml(`${request.method} ${redactor.text(request.url)}`)
  const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Internal Server Error</title>
<link rel="icon" href="data:,">
<style>${styles}</style>
</head>
<body>
<h1>Internal Server Error</h1>
<p>${requestLine}</p>
${parts.join('')}</body>
</html>
`
  const headers = {
    'content-type': 'text/html; charset=UTF-8',
    'cache-control': 'no-cache, private',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
  return new Response(page, { status: 500, headers })
}

interface Sources extends Omit<DebugLastResortServices, 'debugGate'> {
  readonly excerpts: SourceExcerpts
}

/** The message, the lines around the place in the application, and the stack. */
function describe({ frames, message, name }: FlatError, { directory, excerpts, redactor }: Sources): string {
  const calls = frames.map(frame => ({ ...frame, ...locateFrame(frame, directory), path: frame.file }))
  const own = calls.find(({ origin }) => origin === 'application')
  const excerpt = own?.path === undefined ? undefined : excerpts.find(own.path, own.line ?? 1)
  const lines = excerpt?.lines.map((text, index) => {
    const number = excerpt.start + index
    return `${number === own?.line ? '>' : ' '} ${String(number).padStart(4)} | ${text}`.trimEnd()
  })
  const list = calls.map(({ file, function: called, line }) => `    at ${called ?? 'anonymous'} (${file}:${line})`)
  return [`${redactor.text(name)}: ${message}`, ...(lines === undefined ? [] : ['', ...lines, '']), ...list].join('\n')
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, mark => escapes[mark] ?? mark)
}
