import type { HtmlFragment } from '../../../../lib/view/view.ts'
import { writeQuery } from '../../export/query-sections.ts'
import { profileLink } from '../../profile/links.ts'
import type { Profile } from '../../profile/profile.ts'
import { readQueries, type StoredQuery, shapeOf } from '../../profile/queries.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import { codeOf, connectionOf, type ParameterView, toParameters } from '../panels/queries/query-parts.ts'
import type { StatementViews } from '../panels/queries/statements.ts'
import type { Preview } from './report.ts'

/** The failed queries of a request. All of it is masked. */
export interface FailedQueries {
  /** The latest last. */
  readonly queries: readonly FailedQuery[]
  /** The number of failed queries before those. */
  readonly earlier: number
}

/** A query that failed. */
interface FailedQuery extends PlaceView {
  readonly number: number
  readonly connection: string
  /** The whole statement, laid out and with colours. */
  readonly statement: HtmlFragment | undefined
  readonly error: string
  /** Empty if the error begins with it. */
  readonly code: string
  readonly parameters: readonly ParameterView[]
  /** Its row in its panel; empty if the profile is not stored. */
  readonly panelLink: string
}

const shownLimit = 3

/** Shows the failed queries of the profile so far; `false` if no query failed. */
export async function viewFailedQueries(
  { profile, token }: Pick<Preview, 'profile' | 'token'>,
  { editor, statements }: { readonly editor: EditorLinks; readonly statements: StatementViews },
): Promise<FailedQueries | false> {
  const failed = findFailed(profile)
  if (failed.length === 0) return false
  const toView = async (query: StoredQuery): Promise<FailedQuery> => {
    const { caller, error, index, kind } = query
    const views = await statements.create(kind, [query])
    return {
      ...editor.view(caller),
      number: index + 1,
      connection: connectionOf(query),
      statement: views.get(shapeOf(query))?.whole,
      error,
      code: codeOf(query),
      parameters: toParameters(query),
      panelLink: token === '' ? '' : `${profileLink(profile.summary.token, kind)}#query-${index}`,
    }
  }
  const shown = failed.slice(-shownLimit)
  return { queries: await Promise.all(shown.map(toView)), earlier: failed.length - shown.length }
}

/** Writes the failed queries of a profile as Markdown. */
export function writeFailedQueries(profile: Profile): string[] {
  const failed = findFailed(profile).slice(-shownLimit)
  return failed.length === 0 ? [] : ['## Failed queries', failed.map(query => `- ${writeQuery(query)}`).join('\n')]
}

function findFailed(profile: Profile): StoredQuery[] {
  return readQueries(profile).queries.filter(({ error }) => error !== '')
}
