import { flattenError } from '../../../lib/errors/flat-error.ts'
import type { Request } from '../../../lib/http/request.ts'
import { HtmlFragment } from '../../../lib/view/view.ts'
import type { PanelSubject, ProfilePanel } from '../panels/panel.ts'
import { hasContent } from './create-menu.ts'
import type { PageServices } from './page-services.ts'

/** What a panel has become. */
export interface RenderedPanel {
  readonly content: HtmlFragment
  /** Whether there is nothing to show, not even a page that says so. */
  readonly isEmpty: boolean
  /** Why it cannot be shown; empty when it can. */
  readonly problem: string
}

/**
 * Renders a panel by itself, before the page: one that fails, because a record is damaged, costs nothing but itself. One
 * that has no content may fail: templates of other bundles need not know how to show nothing.
 */
export async function renderPanel(
  panel: ProfilePanel,
  subject: PanelSubject,
  request: Request,
  { logger, view }: Pick<PageServices, 'logger' | 'view'>,
): Promise<RenderedPanel> {
  try {
    const model = await panel.toView(subject)
    const content = new HtmlFragment(await view.render(panel.template, model, request))
    return { content, isEmpty: false, problem: '' }
  } catch (error) {
    const content = new HtmlFragment('')
    if (!hasContent(panel, subject.profile)) return { content, isEmpty: true, problem: '' }
    logger.warning('The panel "{panel}" cannot be shown.', { panel: panel.name, exception: error })
    return { content, isEmpty: false, problem: flattenError(error, { hasFrames: false }).message }
  }
}
