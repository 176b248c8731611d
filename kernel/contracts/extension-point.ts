import type { ShapeOf } from '../../lib/text/mistakes.ts'

/** What a list of the application takes: objects with this shape, of which some keys are required. */
export interface ExtensionPoint<type> {
  /** The noun for messages. */
  readonly noun: string
  readonly shape: ShapeOf<type>
  readonly required: readonly (keyof type & string)[]
}
