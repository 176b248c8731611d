import path from 'node:path'
import { locateFrame } from '../stack/locate-frame.ts'
import { parseStack } from '../stack/stack-frames.ts'

/** Remembers where helpers and globals were added, for the message about a second one with the same name. */
export class Registrations {
  readonly #places = new Map<string, Error>()

  /** Remembers the place of the running call. Its stack becomes text only if the place is needed. */
  note(name: string): void {
    this.#places.set(name, new Error(name))
  }

  /** The place of a name as the end of a sentence, such as `, added in bundles/shop/shop-bundle.ts:12`; `undefined` if it is new. */
  find(name: string, directory: string): string | undefined {
    const place = this.#places.get(name)
    if (place === undefined) return undefined
    // The first calls are those of this file and of its folder.
    const [own, ...frames] = parseStack(place)
    const folder = path.dirname(own?.file ?? '')
    const frame = frames.find(({ file }) => file !== undefined && path.dirname(file) !== folder)
    return frame === undefined ? '' : `, added in ${locateFrame(frame, directory).file}:${frame.line}`
  }
}
