/** The environments that an application runs in. */
export const environments = ['dev', 'prod', 'test'] as const

/** One of {@link environments}. */
export type Environment = (typeof environments)[number]
