import * as v from 'valibot'
import { texts } from '../../profile/schema.ts'

/** The files that a page refers to, and that do not exist. */
export const missingAssetsSchema = v.object({
  /** Their paths, at most 20. */
  paths: texts,
})
