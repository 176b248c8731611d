import { readCalls } from '../../../profile/calls.ts'
import { readEventTree } from '../../../profile/event-tree.ts'
import { formatPlace } from '../../../profile/format.ts'
import { profileLink } from '../../../profile/links.ts'
import type { Profile } from '../../../profile/profile.ts'
import { readQueries } from '../../../profile/queries.ts'
import type { EditorLinks, PlaceView } from '../../editor-links.ts'
import { keyOfListener, summarizeListeners } from '../listener-tables.ts'

/**
 * Creates the function that finds the place in the code of a row, by the link of the row: where a listener was registered or the
 * controller is defined, or the caller of a query or an HTTP client. `false` for other rows, and for those of sub-requests.
 */
export function createRowPlaces(profile: Profile, editor: EditorLinks): (link: string) => PlaceView | false {
  const { controller, token } = profile.summary
  const tree = readEventTree(profile)
  const { sites } = summarizeListeners(tree, profile.process)
  const start = `${profileLink(token)}?panel=`
  const places = new Map<string, string | undefined>([
    [`${start}events#controller`, editor.findController(String(controller))],
  ])
  for (const { index, name, parent, priority } of tree.nodes) {
    const site = parent && sites.get(keyOfListener({ event: parent.name, name, priority }))
    places.set(`${start}events#span-${index}`, site)
  }
  for (const { caller, index, kind } of readQueries(profile).queries)
    places.set(`${start}${kind}#query-${index}`, formatPlace(caller))
  for (const { caller, index } of readCalls(profile).calls)
    places.set(`${start}http#call-${index}`, formatPlace(caller))
  return link => {
    const place = places.get(link) ?? ''
    return place !== '' && editor.viewFile(place)
  }
}
