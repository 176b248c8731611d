import { flattenError } from '../../../lib/errors/flatten.ts'
import type { Request } from '../../../lib/http/request.ts'
import { HtmlFragment } from '../../../lib/view/html-fragment.ts'
import type { PanelSubject, ProfilePanel } from '../panels/panel.ts'
import type { PageServices } from './page-services.ts'

/** What a panel has become; `problem` says why it cannot be shown, and is empty when it can. */
export interface RenderedPanel {
  readonly content: HtmlFragment
  readonly problem: string
}

/** Renders a panel by itself, before the page: one that fails, because a record is damaged, costs nothing but itself. */
export async function renderPanel(
  panel: ProfilePanel,
  subject: PanelSubject,
  request: Request,
  { logger, view }: Pick<PageServices, 'logger' | 'view'>,
): Promise<RenderedPanel> {
  try {
    const model = await panel.toView(subject)
    return { content: new HtmlFragment(await view.render(panel.template, model, request)), problem: '' }
  } catch (error) {
    logger.warning('The panel "{panel}" cannot be shown.', { panel: panel.name, exception: error })
    return { content: new HtmlFragment(''), problem: flattenError(error, { hasFrames: false }).message }
  }
}
