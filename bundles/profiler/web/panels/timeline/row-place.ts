import { readCalls } from '../../../profile/calls.ts'
import { type EventNode, readEventTree } from '../../../profile/event-tree.ts'
import { formatPlace } from '../../../profile/format.ts'
import { profileLink } from '../../../profile/links.ts'
import type { Profile } from '../../../profile/profile.ts'
import { readQueries } from '../../../profile/queries.ts'
import { readRenders } from '../../../profile/renders.ts'
import { findDefinition } from '../../answer-place.ts'
import type { EditorLinks, PlaceView } from '../../editor-links.ts'
import { keyOfListener, summarizeListeners } from '../listener-tables.ts'

/**
 * Creates the function that finds the place in the code of a row, by the link of the row: where a listener was registered or a
 * controller is defined, the caller of a query or an HTTP client, the file of a template, or the controller of a sub-request.
 * `false` for other rows.
 */
export function createRowPlaces(
  profiles: readonly Profile[],
  editor: EditorLinks,
): (link: string) => PlaceView | false {
  const places = new Map(profiles.flatMap(profile => listPlaces(profile, editor)))
  return link => editor.viewFile(places.get(link)?.() ?? '')
}

/** The link of a row, and what finds its place: only few rows are asked for it. */
type RowPlace = readonly [link: string, find: () => string]

function listPlaces(profile: Profile, editor: EditorLinks): RowPlace[] {
  const { token } = profile.summary
  const linkTo = (panel: string, id: string) => `${profileLink(token, panel)}#${id}`
  const tree = readEventTree(profile)
  const { sites } = summarizeListeners(tree, profile.process)
  const findSite = ({ name, parent, priority }: EventNode) =>
    sites.get(keyOfListener({ event: parent?.name ?? '', name, priority })) ?? ''
  const definition = () => findDefinition(profile.summary, editor)
  return [
    [profileLink(token, 'time'), definition],
    [linkTo('events', 'controller'), definition],
    ...tree.nodes.map((node): RowPlace => [linkTo('events', `span-${node.index}`), () => findSite(node)]),
    ...readQueries(profile).queries.map(
      ({ caller, index, kind }): RowPlace => [linkTo(kind, `query-${index}`), () => formatPlace(caller)],
    ),
    ...readCalls(profile).calls.map(
      ({ caller, index }): RowPlace => [linkTo('http', `call-${index}`), () => formatPlace(caller)],
    ),
    ...readRenders(profile).all.map(
      ({ index, name }): RowPlace => [linkTo('templates', `render-${index}`), () => editor.findTemplate(name)],
    ),
  ]
}
