import * as v from 'valibot'
import { texts } from '../../profile/schema.ts'

/** The files that a page refers to, and that do not exist. */
type MissingAssetsData = v.InferOutput<typeof missingAssetsSchema>

export const missingAssetsSchema = v.object({
  /** Their paths, at most 20. */
  paths: texts,
})
