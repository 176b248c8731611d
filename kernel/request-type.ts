/** Where a request comes from: outside, or another request. */
export const RequestType = { Main: 'main', Sub: 'sub' } as const

export type RequestType = (typeof RequestType)[keyof typeof RequestType]
