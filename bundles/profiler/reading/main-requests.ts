import type { ProfileFilter } from '../store/profile-storage.ts'

/** Keeps main requests: they have no parent, which reads as an empty text. */
export const mainRequests: ProfileFilter = { field: 'parent', test: 'among', value: new Set(['']) }
