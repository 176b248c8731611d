import { isPlainObject } from '../text/describe-value.ts'
import type { StandardSchema } from './standard-schema.ts'

/** A schema as data: as JSON Schema if the schema itself can say so, else the names of its fields. */
export interface DescribedSchema {
  /** The library, such as `valibot`. */
  readonly vendor: string
  /** What the schema accepts, as JSON Schema of the draft 2020-12. */
  readonly schema?: object
  /** Absent if the schema does not describe an object. */
  readonly fields?: readonly string[]
}

/**
 * Describes a schema without a call of its `validate`. Schemas of zod and ArkType have
 * https://standardschema.dev/json-schema, those of valibot if `toStandardJsonSchema` of
 * `@valibot/to-json-schema` has wrapped them.
 */
export function toDescribedSchema(schema: StandardSchema): DescribedSchema {
  const { vendor } = schema['~standard']
  const described = toJsonSchema(schema)
  // `properties` of JSON Schema, `entries` of valibot, `shape` of zod.
  const members = [described && own(described, 'properties'), own(schema, 'entries'), own(schema, 'shape')]
  const [fields] = members.filter(isPlainObject).map(Object.keys)
  return { vendor, ...(described && { schema: described }), ...(fields && { fields }) }
}

/** A library throws for a type that JSON does not have, such as an uploaded file. */
function toJsonSchema(schema: StandardSchema): object | undefined {
  try {
    const { input } = Object(own(schema['~standard'], 'jsonSchema'))
    const described: unknown = typeof input === 'function' ? input({ target: 'draft-2020-12' }) : undefined
    return isPlainObject(described) ? described : undefined
  } catch {
    return undefined
  }
}

function own(object: object, name: string): unknown {
  return Reflect.get(object, name)
}
