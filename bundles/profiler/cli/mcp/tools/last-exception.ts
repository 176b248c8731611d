import { toJson } from '../../../export/json.ts'
import { toMarkdown } from '../../../export/markdown.ts'
import { searchList } from '../../../insight/list-request.ts'
import { isError } from '../../../insight/route-statistics.ts'
import type { ProfileSummary } from '../../../profile/profile.ts'
import { answer, answerParameters } from '../answer.ts'
import { textParameter } from '../parameter.ts'
import { findSubject, panelsOf } from '../record-parameter.ts'
import { readSearch } from '../search-parameters.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that tells what failed last. */
export function createLastException(services: ToolServices): Tool {
  return defineTool({
    name: 'last_exception',
    title: 'Read the last exception',
    description:
      'Tells of the latest request that failed: what was thrown, its causes, the frames of the application and the source around them. Begin here when something is broken.',
    parameters: {
      status: textParameter('a part of the status, such as 404; 500 and above, or no response, unless told else'),
      url: textParameter('a part of the URL'),
      route: textParameter('a part of the name of the route'),
      ...answerParameters,
    },
    annotations: readsRecords,
    async answer({ route, status, url, ...options }) {
      const wanted = readSearch({ route, status, url })
      const query = { ...wanted.query, limit: Number.MAX_SAFE_INTEGER }
      const { summaries } = await searchList(services.storage, { ...wanted, query })
      const isWanted = status === undefined ? isFailure : hasThrown
      const found = summaries.find(isWanted)
      if (found === undefined) return [explain(summaries.find(hasThrown))]
      const subject = await findSubject(found.token, services)
      const forms = { json: () => toJson(subject, 'exception'), md: () => toMarkdown(subject, 'exception') }
      return answer(forms, options, `For read_panel there are: ${panelsOf(subject.profile, services).join(', ')}.`)
    },
  })
}

function hasThrown({ exception }: ProfileSummary): boolean {
  return exception !== null
}

/** What the client is to blame for is none. */
function isFailure(summary: ProfileSummary): boolean {
  return hasThrown(summary) && (summary.status === 0 || isError(summary))
}

function explain(other: ProfileSummary | undefined): string {
  if (other === undefined) return 'No such exception is on record.'
  return `No such failure is on record; the latest exception was answered with ${other.status}: ask with status "${other.status}".`
}
