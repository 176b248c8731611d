/**
 * The names and types of known request attributes. An application adds its own by declaration merging:
 *
 *     declare module 'sinfonietta' { interface KnownAttributes { locale: string } }
 */
export interface KnownAttributes {
  /** The format of the response, such as `html` or `json`. */
  _format: string
  /** The links of the early hints that were sent before the response. */
  _early_hints: readonly string[]
  /** Files that are deleted when the main request is over. */
  _temporary_files: readonly string[]
  /** The language of the page, such as `de`. A sub-request has that of its parent. */
  _locale: string
}

/** The type of an attribute: that of its name if the name is known, otherwise `unknown`. */
export type AttributeValue<name extends string> = name extends keyof KnownAttributes ? KnownAttributes[name] : unknown

/** The values that listeners and controllers attach to a request, by name. */
export interface Attributes extends Omit<Map<string, unknown>, 'get' | 'set'> {
  get<name extends string>(name: name): AttributeValue<name> | undefined
  set<name extends string>(name: name, value: AttributeValue<name>): this
}
