/** A schema of any library that follows https://standardschema.dev (version 1): valibot, zod, ArkType. */
export interface StandardSchema<value = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<value> | Promise<SchemaResult<value>>
    readonly types?: { readonly input: unknown; readonly output: value } | undefined
  }
}

/** The result of a {@link StandardSchema}. */
export type SchemaResult<value> =
  | { readonly value: value; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/** A mistake that a {@link StandardSchema} has found. */
export interface SchemaIssue {
  readonly message: string
  /** The keys on the way to the value; absent or empty for the whole value. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
