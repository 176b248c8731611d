import { asInteger, type Controller, defineController, routeParameter } from '../../kernel/controller.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { statusText } from '../../lib/http/response.ts'
import type { View } from '../../lib/view/view.ts'
import { renderErrorHtml } from './render-error-html.ts'

/** Creates the controller that shows the error page of production as a developer's visitors will see it. */
export function createErrorPreview(view: View): Controller {
  return defineController('error_preview', [routeParameter('code', asInteger)], async code => {
    if (code < 400 || code > 599)
      throw new HttpError(404, `There is no error page for the status ${code}; try 404 or 500.`)
    const response = await renderErrorHtml({ status: code, statusText: statusText(code) }, view)
    response.status = code
    return response
  })
}
