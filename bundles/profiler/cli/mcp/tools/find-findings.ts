import { listToJson } from '../../../export/list.ts'
import { toList, toSpan } from '../../../export/markdown-text.ts'
import { writeFinding } from '../../../export/request-sections.ts'
import type { Finding } from '../../../insight/findings/finding.ts'
import { searchList } from '../../../insight/list-request.ts'
import { formatCount } from '../../../profile/format.ts'
import { answer, answerParameters } from '../answer.ts'
import { filterParameters, pagingParameters, readSearch } from '../search-parameters.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import type { ToolServices } from '../tool-services.ts'

/** What one rule has found, and where. */
interface RuleReport {
  readonly rule: string
  readonly title: string
  readonly examples: { readonly token: string; readonly request: string; readonly finding: Finding }[]
}

/** Of one rule: more of them say nothing new. */
const exampleLimit = 5

/** Creates the tool that tells what could be better about many requests. */
export function createFindFindings({ inspector, storage }: ToolServices): Tool {
  return defineTool({
    name: 'find_findings',
    title: 'Find what could be better',
    description:
      'Looks at recorded requests by all rules (repeated outgoing calls, slow listeners, a blocked event loop, insecure cookies and more) and tells what was found, rule by rule, with advice. Looks at the latest ones that all filters fit.',
    parameters: { ...filterParameters, ...pagingParameters, ...answerParameters },
    annotations: readsRecords,
    async answer(values) {
      const wanted = readSearch(values)
      const { records } = listToJson(await searchList(storage, wanted), wanted)
      const reports = new Map<string, RuleReport>()
      for (const { summary } of records) {
        const stored = await storage.find(summary.token)
        const request = `${summary.method} ${summary.url}`
        for (const finding of stored === undefined ? [] : inspector.inspect(stored.profile)) {
          const { rule, title } = finding
          const report = reports.get(rule) ?? { rule, title, examples: [] }
          reports.set(rule, report)
          report.examples.push({ token: summary.token, request, finding })
        }
      }
      const rules = [...reports.values()]
      const json = () => ({ requests: records.length, rules })
      return answer({ json, md: () => toMarkdown(records.length, rules) }, values)
    },
  })
}

function toMarkdown(requests: number, rules: readonly RuleReport[]): string {
  const parts = rules.flatMap(({ examples, rule, title }) => [
    `## ${toSpan(rule)}: ${toSpan(title)}`,
    toList(
      examples,
      exampleLimit,
      ({ finding, request, token }) => `${toSpan(token)} ${toSpan(request)}: ${writeFinding(finding, token)}`,
    ),
  ])
  const count = rules.length === 0 ? 'Nothing' : `${formatCount(rules.length, 'rule')} to heed`
  const heading = `# ${count} in ${formatCount(requests, 'request')}`
  return `${[heading, ...parts].join('\n\n')}\n`
}
