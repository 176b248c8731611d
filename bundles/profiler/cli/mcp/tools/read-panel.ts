import { toJson } from '../../../export/json.ts'
import { toMarkdown } from '../../../export/markdown.ts'
import { answer, answerParameters } from '../answer.ts'
import { required, textParameter } from '../parameter.ts'
import { findSubject, panelsOf, recordParameter } from '../record-parameter.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import { ToolError } from '../tool-error.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that tells one part of a record. */
export function createReadPanel(services: ToolServices): Tool {
  const names = services.panels().map(({ name }) => name)
  return defineTool({
    name: 'read_panel',
    title: 'Read a panel of a record',
    description:
      'Tells one part of a record, in more detail than read_record: the exception with its source, what was logged, the tree of events and listeners, and so on.',
    parameters: {
      token: required(recordParameter('the token of a record, or latest')),
      panel: required(textParameter(`${names.join(', ')}, or the name of a collector`)),
      ...answerParameters,
    },
    annotations: readsRecords,
    async answer({ panel, token, ...options }) {
      const subject = await findSubject(token, services)
      const { profile } = subject
      if (!names.includes(panel) && !Object.hasOwn(profile.data, panel)) {
        const known = panelsOf(profile, services).join(', ')
        throw new ToolError(`The record has no panel ${JSON.stringify(panel)}; it has ${known}.`)
      }
      return answer({ json: () => toJson(subject, panel), md: () => toMarkdown(subject, panel) }, options)
    },
  })
}
