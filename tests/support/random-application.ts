import fc from 'fast-check'

/** The events of a request, by the names of their classes. */
const eventNames = [
  'RequestEvent',
  'ControllerEvent',
  'ControllerArgumentsEvent',
  'ViewEvent',
  'ResponseEvent',
  'FinishRequestEvent',
  'ExceptionEvent',
  'TerminateEvent',
] as const

/** The values that code can throw. */
const throwables = [
  'error',
  'http',
  'text',
  'undefined',
  'null',
  'frozen error',
  'frozen object',
  'shared error',
  'error with a cause',
  'circle of causes',
  'refusing proxy',
] as const

/** A value to throw. */
export type Thrown = (typeof throwables)[number]

/** The forms of an object with a `then`. */
const thenableForms = [
  'fulfils later',
  'fulfils at once',
  'fulfils twice',
  'fulfils, then throws',
  'throws',
  'rejects',
  'cannot be read',
] as const

/** A form of a thenable. */
export type ThenableForm = (typeof thenableForms)[number]

/** How a function ends. */
export type Ending =
  | { readonly ends: 'returns' }
  | { readonly ends: 'throws'; readonly thrown: Thrown }
  | { readonly ends: 'rejects'; readonly thrown: Thrown }
  | { readonly ends: 'thenable'; readonly form: ThenableForm; readonly thrown: Thrown }

/** A step of a listener. */
export type Act =
  | { readonly act: 'stop' | 'remove itself' }
  | { readonly act: 'attribute'; readonly value: number }
  | { readonly act: 'respond' | 'replace'; readonly status: number; readonly isValid: boolean; readonly thrown: Thrown }
  | { readonly act: 'add' | 'remove'; readonly index: number }
  | { readonly act: 'ask'; readonly controller: number; readonly catchErrors: boolean; readonly isAnswer: boolean }

/** A listener: the event, the priority, what it does and how it ends. */
export interface ListenerSpec {
  readonly event: (typeof eventNames)[number]
  readonly priority: number
  readonly isCore: boolean
  readonly acts: readonly Act[]
  readonly ending: Ending
}

/** A controller. Only its last argument fails. */
export interface ControllerSpec {
  readonly arguments: readonly ('request' | 'value' | 'promise')[]
  readonly lastArgument: Ending | undefined
  readonly result: 'response' | 'object' | 'text' | 'nothing' | 'platform response' | 'fragment'
  readonly fragment: number
  readonly status: number
  readonly ending: Ending
}

/** A main request. */
export interface RequestSpec {
  readonly controller: number
  readonly catchErrors: boolean
  readonly isIsolated: boolean
  readonly isSent: boolean
  /** The error of the response's stream. */
  readonly streamError: Thrown | undefined
}

/** An application, and the requests that it handles one after another. */
export interface ApplicationSpec {
  readonly listeners: readonly ListenerSpec[]
  /** Listeners that other listeners add. */
  readonly spares: readonly ListenerSpec[]
  readonly controllers: readonly ControllerSpec[]
  /** Whether a listener answers errors by a sub-request to the error controller, which is the first controller. */
  readonly hasErrorPage: boolean
  readonly lastResort: 'default' | 'own' | 'throws'
  readonly isTraced: boolean
  /** The limit of sub-requests in all. */
  readonly subRequests: number
  readonly requests: readonly RequestSpec[]
  /** Chooses the asynchronous calls of a mixture. */
  readonly seed: number
}

const thrown = fc.constantFrom(...throwables)
const failure: fc.Arbitrary<Ending> = fc.oneof(
  fc.record({ ends: fc.constant('throws' as const), thrown }),
  fc.record({ ends: fc.constant('rejects' as const), thrown }),
)

const thenable: fc.Arbitrary<Ending> = fc.record({
  ends: fc.constant('thenable' as const),
  form: fc.constantFrom(...thenableForms),
  thrown,
})

const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 16, arbitrary: fc.constant({ ends: 'returns' } as const) },
  { weight: 2, arbitrary: failure },
  { weight: 2, arbitrary: thenable },
)

const index = fc.nat(7)
const status = fc.constantFrom(200, 201, 204, 302, 404, 503)
/** A value in one of `weight` cases. */
const rarely = <value>(weight: number, arbitrary: fc.Arbitrary<value>): fc.Arbitrary<value | undefined> =>
  fc.oneof({ weight: weight - 1, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const mostly = fc.oneof({ weight: 8, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) })

const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('attribute' as const), value: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constantFrom('stop', 'remove itself') }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constantFrom('respond', 'replace'), status, isValid: mostly, thrown }) },
  { weight: 2, arbitrary: fc.record({ act: fc.constantFrom('add', 'remove'), index }) },
  {
    weight: 1,
    arbitrary: fc.record({
      act: fc.constant('ask' as const),
      controller: index,
      catchErrors: fc.boolean(),
      isAnswer: fc.boolean(),
    }),
  },
)

const listener: fc.Arbitrary<ListenerSpec> = fc.record({
  event: fc.constantFrom(...eventNames),
  priority: fc.integer({ min: -2, max: 2 }),
  isCore: fc.boolean(),
  acts: fc.array(act, { maxLength: 3 }),
  ending,
})

const controller: fc.Arbitrary<ControllerSpec> = fc.record({
  arguments: fc.array(fc.constantFrom('request', 'value', 'promise'), { maxLength: 3 }),
  lastArgument: rarely(9, fc.oneof(failure, thenable)),
  result: fc.constantFrom(
    'response',
    'response',
    'response',
    'object',
    'text',
    'nothing',
    'platform response',
    'fragment',
  ),
  fragment: index,
  status,
  ending,
})

const request: fc.Arbitrary<RequestSpec> = fc.record({
  controller: index,
  catchErrors: mostly,
  isIsolated: mostly.map(is => !is),
  isSent: mostly,
  streamError: rarely(5, thrown),
})

/** Generates applications with listeners of all events and controllers of all kinds. */
export const applications: fc.Arbitrary<ApplicationSpec> = fc.record({
  listeners: fc.array(listener, { maxLength: 16 }),
  spares: fc.array(listener, { maxLength: 3 }),
  controllers: fc.array(controller, { minLength: 1, maxLength: 4 }),
  hasErrorPage: fc.boolean(),
  lastResort: fc.constantFrom('default', 'own', 'throws'),
  isTraced: fc.boolean(),
  subRequests: fc.constantFrom(0, 2, 5, 14),
  requests: fc.array(request, { minLength: 1, maxLength: 2 }),
  seed: fc.nat(),
})
