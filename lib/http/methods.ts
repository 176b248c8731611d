/** The methods that a route may answer. */
export const knownMethods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** Methods that are read as HTTP, and never answered: TRACE would reflect credentials, CONNECT is for proxies. */
export const refusedMethods = ['TRACE', 'CONNECT'] as const
