/**
 * Values by name: texts, numbers, booleans, and lists of them in the query. `undefined` and `null`
 * are left out. `_fragment` is the part behind the `#`.
 */
export type UrlParameters = Readonly<Record<string, unknown>>

/**
 * The routes of an application by their names, each with the variables that a URL of it needs. The
 * development server writes them into `var/routes.d.ts`. Without that file, any name compiles.
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add their routes
export interface KnownRoutes {}

/** The name of a route. */
export type RouteName = keyof KnownRoutes extends never ? string : keyof KnownRoutes & string

/** The parameters of a URL, and what follows them. They may be left out if the route needs none. */
export type UrlArguments<name extends string, rest extends readonly unknown[]> = name extends keyof KnownRoutes
  ? object extends KnownRoutes[name]
    ? [parameters?: KnownRoutes[name] & UrlParameters, ...rest: rest]
    : [parameters: KnownRoutes[name] & UrlParameters, ...rest: rest]
  : [parameters?: UrlParameters, ...rest: rest]
