import type { KnownAttributes } from '../http/attributes.ts'

/** The defaults of a route, overwritten by the variables of its path and host. Without a prototype. */
export type RouteParameters = Readonly<Record<string, unknown>>

/** Values of variables that are not in the path, and attributes such as `_format`, by name. */
export type RouteDefaults = Readonly<Record<string, unknown> & Partial<KnownAttributes>>

/** The defaults of a definition without defaults. */
export type NoDefaults = Readonly<Record<never, never>>

/**
 * The parameters of a route, by the text of its path and the types of its defaults: a text for each `:variable` and
 * `*wildcard`. A variable of an optional part may be `undefined`, or its default. For a path that is not known to the
 * compiler, any name is allowed, and its value is `unknown`.
 */
export type ParametersOf<source extends string, defaults extends object = NoDefaults> =
  Scan<source> extends readonly [infer always extends string, infer maybe extends string]
    ? string extends always
      ? RouteParameters
      : {
          readonly [name in always | maybe | keyof defaults]: name extends always
            ? string
            : (name extends maybe ? string : never) | (name extends keyof defaults ? defaults[name] : undefined)
        }
    : never

/** The names of the variables outside of `{` and `}`, and within. `depth` has an entry for each open brace. */
type Scan<
  source extends string,
  depth extends readonly unknown[] = [],
  always extends string = never,
  maybe extends string = never,
> = source extends `${infer first}${infer rest}`
  ? first extends ':' | '*'
    ? ReadName<rest> extends readonly [infer name extends string, infer after extends string]
      ? depth extends readonly []
        ? Scan<after, depth, always | name, maybe>
        : Scan<after, depth, always, maybe | name>
      : never
    : first extends '{'
      ? Scan<rest, [...depth, unknown], always, maybe>
      : first extends '}'
        ? Scan<rest, depth extends readonly [unknown, ...infer outer] ? outer : [], always, maybe>
        : Scan<first extends '\\' ? AfterFirst<rest> : rest, depth, always, maybe>
  : source extends ''
    ? readonly [always, maybe]
    : // A text that the compiler does not know.
      readonly [string, string]

type AfterFirst<text extends string> = text extends `${infer _first}${infer rest}` ? rest : ''

/** The name at the beginning of a text, and the text behind it. */
type ReadName<text extends string> = text extends `"${infer name}"${infer after}`
  ? readonly [name, after]
  : ReadWord<text>

type ReadWord<text extends string, word extends string = ''> = text extends `${infer first}${infer rest}`
  ? first extends NoPartOfNames
    ? readonly [word, text]
    : ReadWord<rest, `${word}${first}`>
  : readonly [word, text]

/** The characters of ASCII that are not a part of a name. */
type NoPartOfNames = Split<'/.-,;:*{}~+@|!&()[]=%?#<>^`\\ '> | '"' | "'"

type Split<text extends string, found extends string = never> = text extends `${infer first}${infer rest}`
  ? Split<rest, found | first>
  : found
