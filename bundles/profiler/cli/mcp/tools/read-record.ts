import { toJson } from '../../../export/json.ts'
import { toMarkdown } from '../../../export/markdown.ts'
import { answer, answerParameters } from '../answer.ts'
import { required } from '../parameter.ts'
import { findSubject, panelsOf, recordParameter } from '../record-parameter.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that tells all of a record. */
export function createReadRecord(services: ToolServices): Tool {
  return defineTool({
    name: 'read_record',
    title: 'Read a record',
    description:
      'Tells what was recorded of one request: summary, exceptions, request and response, logs, events, routing, templates, outgoing requests. Long; read_panel tells one part.',
    parameters: { token: required(recordParameter('the token of a record, or latest')), ...answerParameters },
    annotations: readsRecords,
    async answer({ token, ...options }) {
      const subject = await findSubject(token, services)
      const panels = panelsOf(subject.profile, services).join(', ')
      const forms = { json: () => toJson(subject), md: () => toMarkdown(subject) }
      return answer(forms, options, `For read_panel there are: ${panels}.`)
    },
  })
}
