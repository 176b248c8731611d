import { formatMarkdown } from '../../../../lib/console/document.ts'
import { planReplay } from '../../insight/replay/plan-replay.ts'
import type { Replayer } from '../../insight/replay/replayer.ts'
import { repeatRequest } from '../../insight/replay/verify.ts'
import { compareStored } from '../profiler-compare.ts'
import { verifyRequest } from '../profiler-verify.ts'
import { type AddTool, findStored, ToolError, type ToolServices } from './tool.ts'
import { createInputs, writeAnswer, type Zod } from './tool-input.ts'

/** The services of tools that replay requests. */
interface ReplayToolServices extends ToolServices {
  readonly replayer: Pick<Replayer, 'replay'>
}

const sends = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false }

const limits = 'GET, HEAD and OPTIONS only; cookies and credentials are not sent.'

/** Adds the tools that replay requests. */
export function addReplayTools(z: Zod, services: ReplayToolServices, add: AddTool): void {
  const { inspector } = services
  const { answer, token } = createInputs(z)
  add(
    'replay_request',
    {
      title: 'Replay a request',
      description: `Makes a recorded request again with the code as it is now, and lists what has changed. ${limits} Use it to check whether a change repairs what failed.`,
      input: { token, ...answer },
      annotations: sends,
    },
    async ({ token, ...options }) => {
      const { original, repeat } = await prepare(token, services)
      const { document } = await compareStored(services.storage, original, orThrow(await repeat()).profile)
      return writeAnswer({ json: () => document.json, md: () => formatMarkdown(document) }, options)
    },
  )

  add(
    'verify_request',
    {
      title: 'Verify a fix',
      description: `Makes a recorded request again with the code as it is now, and says of its exception and of each finding whether it is fixed or still there, or that the page now fails. Times are measured three times. ${limits} Use it after a fix.`,
      input: {
        token,
        finding: z.string().optional().describe('only this rule, such as repeated-queries, or exception'),
        ...answer,
      },
      annotations: sends,
    },
    async ({ finding, token, ...options }) => {
      const { original, repeat } = await prepare(token, services)
      const { document } = orThrow(await verifyRequest(original, inspector, repeat, finding))
      return writeAnswer({ json: () => document.json, md: () => formatMarkdown(document) }, options)
    },
  )
}

/** Prepares the replay of a request that changes no data. @throws ToolError */
async function prepare(token: string, services: ReplayToolServices) {
  const { profile: original } = await findStored(token, services)
  const plan = planReplay(original)
  if (!plan.isPossible) throw new ToolError([plan.reason, plan.parent].filter(part => part !== '').join(' '))
  if (plan.caution !== '') throw new ToolError(`${plan.caution} Only a person can replay it, on its page.`)
  return { original, repeat: () => repeatRequest(plan, undefined, services) }
}

/** @throws ToolError */
function orThrow<result extends object>(result: result | { readonly problem: string }): result {
  if ('problem' in result) throw new ToolError(result.problem)
  return result
}
