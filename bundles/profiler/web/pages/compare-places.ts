import type { CallerPlace } from '../../../../lib/stack/choose-places.ts'
import type { ListenerUse } from '../../insight/compare/compared-parts.ts'
import { patternOf, readCalls } from '../../profile/calls.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import type { Profile } from '../../profile/profile.ts'
import type { EditorLinks, PlaceView } from '../editor-links.ts'
import { keyOfListener, summarizeListeners } from '../panels/listener-tables.ts'

type Place = PlaceView | false

/** The places in the code of what two profiles contain; `false` for an unknown place. */
interface ComparePlaces {
  readonly ofCaller: (caller: CallerPlace) => Place
  readonly ofController: (name: unknown) => Place
  readonly ofListener: (use: ListenerUse) => Place
  readonly ofTemplate: (name: string) => Place
  /** Of HTTP client calls, by their method and URL without values. */
  readonly ofCall: (pattern: string) => Place
}

/** Creates the functions that find places in two profiles. Without an editor, they find none. */
export function createComparePlaces(profiles: readonly Profile[], editor: EditorLinks | undefined): ComparePlaces {
  const sites = new Map(profiles.flatMap(each => [...summarizeListeners(readEventTree(each), each.process).sites]))
  const calls = profiles.flatMap(profile => readCalls(profile).calls)
  const callers = new Map(calls.map(call => [patternOf(call), call.caller]))
  const view = (place = '') => editor?.viewFile(place) ?? false
  const ofCaller = (caller: CallerPlace) => editor?.viewCaller(caller) ?? false
  return {
    ofCaller,
    ofController: name => view(editor?.findController(String(name))),
    ofListener: use => view(sites.get(keyOfListener(use))),
    ofTemplate: name => view(editor?.findTemplate(name)),
    ofCall: pattern => ofCaller(callers.get(pattern) ?? {}),
  }
}
