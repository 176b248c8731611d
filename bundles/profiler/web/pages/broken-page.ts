import { createHash } from 'node:crypto'
import type { SourceProblem } from '../../../../kernel/bundle.ts'
import type { Request } from '../../../../lib/http/request.ts'
import type { Response } from '../../../../lib/http/response.ts'
import { SourceExcerpts } from '../../../../lib/stack/source-excerpts.ts'
import { formatCount } from '../../profile/format.ts'
import { brokenLink, home } from '../../profile/links.ts'
import { viewSource } from '../exceptions.ts'
import { type ProfilerApplication, sourceStates } from '../profiler-application.ts'
import { redirect, renderPage } from '../respond.ts'

type BrokenPageServices = Pick<
  ProfilerApplication,
  'assets' | 'brokenSources' | 'directory' | 'editor' | 'redactor' | 'view'
>

/**
 * Renders the changed files that cannot be used, each with its message and its source. A script asks each second whether the
 * answer has another version, and then loads the page again. When all is corrected, it leads to the page it was opened from.
 */
export async function renderBroken(request: Request, app: BrokenPageServices): Promise<Response> {
  const { problems, served } = app.brokenSources()
  const [first, ...others] = problems.map(problem => viewProblem(problem, app))
  if (first === undefined) return redirect(findTarget(request))
  const version = createHash('sha256').update(JSON.stringify(problems)).digest('hex').slice(0, 12)
  const heading = sourceStates[served]
  const model = {
    title: heading,
    heading,
    count: formatCount(problems.length, served === 'current' ? 'type error' : 'mistake'),
    first,
    others,
    version,
    poll: brokenLink(),
    back: served === 'nothing' ? '' : findTarget(request),
  }
  const response = await renderPage('profiler/broken', model, request, app, served === 'nothing' ? 503 : 200)
  response.headers.set('x-sources', version)
  response.headers.set('cache-control', 'no-store')
  return response
}

/** The page that the toolbar was on: a path of this origin. */
function findTarget({ query }: Request): string {
  const target = query.get('page') ?? ''
  // Browsers leave out tabs and line breaks, and read a backslash as a slash.
  return /^\/(?![/\\])[^\s\p{Cc}]*$/u.test(target) ? target : home
}

function viewProblem({ column = 1, file, line = 1, message }: SourceProblem, app: BrokenPageServices) {
  const { directory, editor, redactor } = app
  // A new reader: the file changes while the page is open.
  const excerpt = file === undefined ? undefined : new SourceExcerpts(directory, redactor).find(file, line)
  const lines = viewSource(excerpt && { file: file ?? '', line, ...excerpt }).flatMap(shown =>
    shown.isMarked ? [shown, toMarker(shown.tokens.map(({ text }) => text).join(''), column)] : [shown],
  )
  return {
    message: redactor.text(message),
    lines,
    place: file === undefined ? editor.viewName('') : editor.view({ file, line, column }),
  }
}

/** A line with a mark below the column. */
function toMarker(text: string, column: number) {
  const before = text.slice(0, column - 1).replace(/[^\t]/g, ' ')
  return { number: '', isMarked: true, tokens: [{ kind: 'keyword', text: `${before}^` }] }
}
