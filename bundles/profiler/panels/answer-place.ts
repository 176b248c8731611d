import { findSite, readEventTree } from '../profile/event-tree.ts'
import { findThrowPlace } from '../profile/exceptions.ts'
import { formatPlace } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import { readRouteLog } from '../subjects/router/read.ts'
import type { EditorLinks, PlaceView } from './editor-links.ts'

/**
 * Finds the place in the code that answered a request: the line that threw, the listener that answered in place of a
 * controller, the controller, its route, or the route that was nearly found. File and line; empty if none is known.
 */
export function findAnswerPlace(profile: Profile, editor: EditorLinks): string {
  return (
    formatPlace(findThrowPlace(profile) ?? {}) ||
    findListener(profile) ||
    editor.findDefinition(profile.summary) ||
    findNearRoute(profile, editor)
  )
}

/**
 * The view of the place that answered; `false` if it is not known, or if it is the definition of
 * the controller or of the route.
 */
export function viewAnswer(profile: Profile, editor: EditorLinks): PlaceView | false {
  const place = findAnswerPlace(profile, editor)
  return place !== editor.findDefinition(profile.summary) && editor.viewFile(place)
}

function findListener(profile: Profile): string {
  const answer = readEventTree(profile).nodes.find(
    ({ details, parent }) => parent?.name === 'kernel.request' && details.includes('set the response'),
  )
  return (answer && findSite(answer, profile)) ?? ''
}

/** Finds the declaration of a route that has the path of the request, but another method or host, for example. */
function findNearRoute(profile: Profile, editor: EditorLinks): string {
  const near = readRouteLog(profile)?.routes.find(({ reason }) => reason !== 'path')
  return near === undefined ? '' : editor.findRoute(near.name)
}
