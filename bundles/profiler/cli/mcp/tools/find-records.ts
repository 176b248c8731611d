import { listToJson, listToMarkdown } from '../../../export/list.ts'
import { searchList } from '../../../insight/list-request.ts'
import { answer, answerParameters } from '../answer.ts'
import { filterParameters, pagingParameters, readSearch } from '../search-parameters.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that lists records. */
export function createFindRecords({ storage }: ToolServices): Tool {
  return defineTool({
    name: 'find_records',
    title: 'Find recorded requests',
    description:
      'Lists recorded requests, the latest first: status, method, URL, duration, time, exception, and the token by which other tools know the record. Only those that all filters fit.',
    parameters: { ...filterParameters, ...pagingParameters, ...answerParameters },
    annotations: readsRecords,
    async answer(values) {
      const wanted = readSearch(values)
      const list = listToJson(await searchList(storage, wanted), wanted)
      // Pages are turned by asking again, not by links.
      const links = { ...list.links, next: null }
      const remarks = list.links.next === null ? [] : [`There are more: ask for page ${list.page + 1}.`]
      return answer({ json: () => list, md: () => listToMarkdown({ ...list, links }) }, values, ...remarks)
    },
  })
}
