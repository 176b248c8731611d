import type { Response } from '../../lib/http/response.ts'
import { locateFrame, parseStack } from '../../lib/stack/stack-frames.ts'
import type { Foundation } from '../bundle.ts'
import { nameOfController } from '../controller.ts'
import type { AnswerableEvent } from '../events.ts'

/** Reports the answer of a listener that is not used. The listeners of the framework may answer in vain. */
export function createAnswerReport({ directory, logger }: Pick<Foundation, 'directory' | 'logger'>) {
  return (event: AnswerableEvent, lost: Response | undefined): void => {
    const log = logger.withRequestId(event.request.id)
    if (lost === undefined) {
      const controller = nameOfController(event.request.attributes.get('_controller'))
      log.warning(lostController, { controller })
      return
    }
    const caught = { message: '' }
    Error.captureStackTrace(caught, event.respond)
    const [caller] = parseStack(caught)
    const location = caller && locateFrame(caller, directory)
    if (location?.origin === 'kernel') return
    const place = location?.file === undefined ? '' : ` in ${location.file}:${caller?.line}`
    log.warning(event.response === undefined ? lostAnswer : repeatedAnswer, { place, status: lost.status })
  }
}

const lostController =
  'A listener of kernel.request has changed the controller of a sub-request that has one, such as an error page, without effect: "{controller}" is called. Use a listener of kernel.controller.'

const lostAnswer =
  'event.respond(){place} does not answer a sub-request that has its controller, such as an error page: the response with the status {status} is not sent. Return before this call if event.isMainRequest is false.'

const repeatedAnswer =
  'event.respond(){place} replaces a response with the status {status}, which is not sent: is a "return" missing before this call?'
