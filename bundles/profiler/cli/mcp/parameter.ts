/** Stands for what is given and cannot be taken. */
export const unfit: unique symbol = Symbol('unfit')

/** What a tool can be given: how agents are told of it, and how it is read. */
export interface Parameter<value = unknown> {
  /** JSON Schema, the description included. */
  readonly schema: Readonly<Record<string, unknown>>
  readonly isRequired: boolean
  /** Completes the sentence "it must be …". */
  readonly expected: string
  /** Reads what was given, which is `undefined` when nothing was. */
  readonly read: (given: unknown) => value | typeof unfit
}

/** Which texts a parameter takes. */
export interface TextRules {
  readonly isFit: (text: string) => boolean
  readonly expected: string
}

/** A text; numbers are taken for what they look like. */
export function textParameter(description: string, rules?: TextRules): Parameter<string | undefined> {
  return createParameter({ type: 'string', description }, rules?.expected ?? 'a text', given => {
    if (typeof given !== 'string' && typeof given !== 'number') return unfit
    const text = String(given)
    return rules === undefined || rules.isFit(text) ? text : unfit
  })
}

/** One of several words. */
export function choiceParameter<const choice extends string>(
  description: string,
  choices: readonly choice[],
): Parameter<choice | undefined> {
  return createParameter(
    { type: 'string', enum: choices, description },
    `one of ${choices.join(', ')}`,
    given => choices.find(choice => choice === given) ?? unfit,
  )
}

/** A whole number from 1 (or what else is the least) to the most. */
export function countParameter(description: string, maximum: number, minimum = 1): Parameter<number | undefined> {
  return createParameter(
    { type: 'integer', minimum, maximum, description },
    `a whole number from ${minimum} to ${maximum}`,
    given => {
      const count = typeof given === 'string' && /^\d+$/.test(given) ? Number(given) : given
      return typeof count === 'number' && Number.isInteger(count) && count >= minimum && count <= maximum
        ? count
        : unfit
    },
  )
}

const flags: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ...[true, 'true'].map(form => [form, true] as const),
  ...[false, 'false'].map(form => [form, false] as const),
])

/** Yes or no. */
export function flagParameter(description: string): Parameter<boolean | undefined> {
  return createParameter({ type: 'boolean', description }, 'true or false', given => flags.get(given) ?? unfit)
}

/** A parameter without which a tool cannot be called. */
export function required<value>(parameter: Parameter<value>): Parameter<Exclude<value, undefined>> {
  // Whoever calls the tool has to give it.
  return { ...parameter, isRequired: true } as Parameter<Exclude<value, undefined>>
}

/** A parameter that has a value also when none is given. */
export function withDefault<value>(
  parameter: Parameter<value>,
  fallback: Exclude<value, undefined>,
): Parameter<Exclude<value, undefined>> {
  return {
    ...parameter,
    schema: { ...parameter.schema, default: fallback },
    // It is read as `undefined` only where nothing is given.
    read: given => (given === undefined ? fallback : (parameter.read(given) as Exclude<value, undefined>)),
  }
}

function createParameter<value>(
  schema: Parameter['schema'],
  expected: string,
  read: (given: unknown) => value | typeof unfit,
): Parameter<value | undefined> {
  return {
    schema,
    expected,
    isRequired: false,
    read: given => (given === undefined ? undefined : read(given)),
  }
}
