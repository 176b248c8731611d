import { formatMarkdown } from '../../../../../lib/console/document.ts'
import { findPrevious } from '../../../insight/relatives.ts'
import { toCompareDocument } from '../../profiler-compare.ts'
import { answer, answerParameters } from '../answer.ts'
import { required } from '../parameter.ts'
import { findStored, recordParameter } from '../record-parameter.ts'
import { defineTool, readsRecords, type Tool } from '../tool.ts'
import { ToolError } from '../tool-error.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that tells what is different in two records. */
export function createCompareRecords(services: ToolServices): Tool {
  return defineTool({
    name: 'compare_records',
    title: 'Compare two records',
    description:
      'Tells what differs in two recorded requests: times, status, headers, parameters, listeners, logs. What is the same is left out.',
    parameters: {
      token: required(recordParameter('the token of a record, or latest')),
      with: recordParameter('the token of the one to compare with; without it, the one before that asked for the same'),
      ...answerParameters,
    },
    annotations: readsRecords,
    async answer({ token, with: other, ...options }) {
      const { profile } = await findStored(token, services)
      const before = other ?? (await findPrevious(services.storage, profile.summary))?.token
      if (before === undefined) throw new ToolError(`There is no record before "${token}" that asked for the same.`)
      const { profile: first } = await findStored(before, services)
      const { document } = toCompareDocument(first, profile)
      return answer({ json: () => document.json, md: () => formatMarkdown(document) }, options)
    },
  })
}
