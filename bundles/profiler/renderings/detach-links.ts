import { recordLink } from '../links.ts'

/**
 * Takes a page of a record off its server: links to its panels lead to the same in the page, those to other sites stay,
 * and what else led somewhere leads nowhere. The page is of templates, in which every recorded quote is escaped.
 */
export function detachLinks(html: string, token: string): string {
  return html.replace(/\s(?:href|action|formaction)="([^"]*)"/g, (attribute, value: string) => {
    const link = value.replaceAll('&#x3D;', '=').replaceAll('&amp;', '&')
    if (/^(?:#|https?:)/.test(link)) return attribute
    const [, path = '', panel, anchor] = /^([^?#]*)(?:\?panel=([\w-]+)[^#]*)?(?:#([\w-]+))?$/.exec(link) ?? []
    if (path !== '' && path !== recordLink(token)) return ''
    const target = anchor ?? (panel === undefined ? undefined : `panel-${panel}`)
    return target === undefined ? '' : ` href="#${target}"`
  })
}
