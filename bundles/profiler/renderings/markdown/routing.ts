import { readRouteLog } from '../../panels/router.ts'
import { asObject, asText, asTexts } from '../../reading/read-soft.ts'
import type { Section } from './section.ts'
import { toList, toSpan, toValueSpan } from './text.ts'

/** The route that was found, or those that came nearest. */
export const routingSection: Section = {
  panel: 'router',
  write({ profile }, limit) {
    const data = asObject(profile.data.router)
    if (Object.keys(data).length === 0) return []
    const log = readRouteLog(data)
    const route = asText(data.route)
    const allow = asTexts(data.allow)
    const parameters = Object.entries(asObject(data.parameters))
    return [
      '## Routing',
      log === undefined ? `Matched ${toSpan(route)}.` : `None of ${log.total} routes matched.`,
      ...(data.location === undefined ? [] : [`Sent on to ${toValueSpan(data.location)}.`]),
      ...(parameters.length === 0
        ? []
        : ['### Parameters', toList(parameters, limit, ([name, value]) => `${toSpan(name)}: ${toValueSpan(value)}`)]),
      ...(allow.length === 0 ? [] : [`Allowed methods: ${allow.map(toSpan).join(', ')}`]),
      ...(log === undefined || log.routes.length === 0
        ? []
        : [
            '### Nearest routes',
            toList(log.routes, limit, ({ name, path, text }) => `${toSpan(path)} (${toSpan(name)}): ${toSpan(text)}`),
          ]),
    ]
  },
}
