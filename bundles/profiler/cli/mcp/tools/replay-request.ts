import { formatMarkdown } from '../../../../../lib/console/document.ts'
import { planReplay } from '../../../insight/replay/plan-replay.ts'
import type { Replayer } from '../../../insight/replay/replayer.ts'
import { toCompareDocument } from '../../profiler-compare.ts'
import { answer, answerParameters } from '../answer.ts'
import { required } from '../parameter.ts'
import { findStored, recordParameter } from '../record-parameter.ts'
import { defineTool, type Tool } from '../tool.ts'
import { ToolError } from '../tool-error.ts'
import type { ToolServices } from '../tool-services.ts'

/** Creates the tool that makes a recorded request once more. */
export function createReplayRequest(services: ToolServices, replayer: Pick<Replayer, 'replay'>): Tool {
  return defineTool({
    name: 'replay_request',
    title: 'Replay a request',
    description:
      'Makes a recorded request once more, by the code as it is now, and tells what has changed. GET, HEAD and OPTIONS only; cookies and credentials are not sent. Use it to see whether a change has mended what failed.',
    parameters: {
      token: required(recordParameter('the token of the record, or latest')),
      ...answerParameters,
    },
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    async answer({ token, ...options }) {
      const { profile } = await findStored(token, services)
      const plan = planReplay(profile)
      if (!plan.isPossible) throw new ToolError([plan.reason, plan.parent].filter(part => part !== '').join(' '))
      if (plan.caution !== '') throw new ToolError(`${plan.caution} Only somebody at its page can replay it.`)
      const result = await replayer.replay(plan)
      if ('problem' in result) throw new ToolError(result.problem)
      const { document } = toCompareDocument(profile, (await findStored(result.token, services)).profile)
      return answer({ json: () => document.json, md: () => formatMarkdown(document) }, options)
    },
  })
}
