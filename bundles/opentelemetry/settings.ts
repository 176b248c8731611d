import { type BundleSettings, defineSettings } from '../../lib/env/settings.ts'
import { asFlag, asMilliseconds, asOneOf, asRatio, type Conversion, splitList } from '../../lib/text/conversion.ts'

/** The values of the settings of tracing. The names and meanings are those of OpenTelemetry. */
export interface OpenTelemetrySettings {
  readonly OTEL_SDK_DISABLED: boolean
  readonly OTEL_EXPORTER_OTLP_ENDPOINT: string | undefined
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: string | undefined
  readonly OTEL_EXPORTER_OTLP_PROTOCOL: Protocol
  readonly OTEL_EXPORTER_OTLP_HEADERS: TextPairs
  /** Milliseconds. */
  readonly OTEL_EXPORTER_OTLP_TIMEOUT: number
  readonly OTEL_SERVICE_NAME: string | undefined
  readonly OTEL_RESOURCE_ATTRIBUTES: TextPairs
  readonly OTEL_TRACES_EXPORTER: 'otlp' | 'none' | undefined
  readonly OTEL_TRACES_SAMPLER: (typeof samplers)[number]
  readonly OTEL_TRACES_SAMPLER_ARG: number
}

/** Names and their values. */
type TextPairs = Readonly<Record<string, string>>

const protocols = ['http/protobuf', 'http/json'] as const

/** A format of OTLP. */
export type Protocol = (typeof protocols)[number]

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const

const asHttpUrl: Conversion<string> = {
  expected: 'a URL such as http://localhost:4318',
  convert: text => (/^https?:\/\//i.test(text) && URL.canParse(text) ? text : undefined),
}

const asAttributes: Conversion<TextPairs> = {
  expected: 'a list of pairs such as name=value,other=value, percent-encoded',
  convert(text) {
    const pairs = splitList(text).map(toPair)
    return pairs.includes(undefined) ? undefined : Object.fromEntries(pairs.filter(pair => pair !== undefined))
  },
}

function toPair(text: string): [name: string, value: string] | undefined {
  const [, name = '', value = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(text) ?? []
  if (name === '') return undefined
  try {
    return [decodeURIComponent(name), decodeURIComponent(value)]
  } catch {
    return undefined
  }
}

/** The settings of tracing. This file loads nothing else of the bundle. */
export const openTelemetrySettings: BundleSettings<OpenTelemetrySettings> = defineSettings(
  {
    /** They are sent to `/v1/traces` below it. */
    OTEL_EXPORTER_OTLP_ENDPOINT: {
      help: 'sends traces to this OpenTelemetry collector or back end, such as http://localhost:4318',
      schema: asHttpUrl,
      default: undefined,
    },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
      help: 'the whole URL for traces; by default the endpoint and /v1/traces',
      schema: asHttpUrl,
      default: undefined,
    },
    OTEL_EXPORTER_OTLP_PROTOCOL: {
      help: 'the format of traces: http/protobuf or http/json',
      schema: asOneOf(...protocols),
      default: 'http/protobuf',
    },
    OTEL_EXPORTER_OTLP_HEADERS: {
      help: 'headers for the endpoint, such as api-key=secret',
      schema: asAttributes,
      default: {},
      secret: true,
    },
    OTEL_EXPORTER_OTLP_TIMEOUT: {
      help: 'milliseconds that the endpoint has to take a batch of spans',
      schema: asMilliseconds,
      default: 10_000,
    },
    OTEL_SERVICE_NAME: {
      help: 'the name of the application in traces; by default the name in its package.json',
      default: undefined,
    },
    OTEL_RESOURCE_ATTRIBUTES: {
      help: 'attributes of all spans, such as deployment.environment.name=staging',
      schema: asAttributes,
      default: {},
    },
    OTEL_TRACES_EXPORTER: {
      help: 'otlp sends traces to http://localhost:4318 without an endpoint; none turns tracing off',
      schema: asOneOf('otlp', 'none'),
      default: undefined,
    },
    OTEL_TRACES_SAMPLER: {
      help: `which requests are traced: ${samplers.join(', ')}`,
      schema: asOneOf(...samplers),
      default: 'parentbased_always_on',
    },
    OTEL_TRACES_SAMPLER_ARG: {
      help: 'the share of requests for a sampler with traceidratio, from 0 to 1',
      schema: asRatio,
      default: 1,
    },
    OTEL_SDK_DISABLED: { help: 'turns tracing off', schema: asFlag, default: false },
  },
  values => {
    const {
      OTEL_EXPORTER_OTLP_ENDPOINT: base = '',
      OTEL_TRACES_SAMPLER_ARG: share,
      OTEL_TRACES_SAMPLER: sampler,
    } = values
    const isWhole = /\/v1\/traces\/*$/.test(base) && values.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT === undefined
    return {
      OTEL_EXPORTER_OTLP_ENDPOINT: isWhole
        ? 'ends with /v1/traces, which is added to it: leave that out, or set OTEL_EXPORTER_OTLP_TRACES_ENDPOINT instead.'
        : undefined,
      OTEL_TRACES_SAMPLER_ARG:
        share === 1 || sampler.endsWith('ratio')
          ? undefined
          : 'has no effect without OTEL_TRACES_SAMPLER=parentbased_traceidratio or traceidratio.',
    }
  },
)

/** The endpoint that the specification of OTLP exporters gives them. */
const usualEndpoint = 'http://localhost:4318'

/** The URL that traces are sent to; `undefined` without an endpoint, if none is asked for by `otlp`. */
export function findEndpoint(settings: OpenTelemetrySettings): string | undefined {
  const { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own, OTEL_TRACES_EXPORTER: exporter } = settings
  const base = settings.OTEL_EXPORTER_OTLP_ENDPOINT ?? (exporter === 'otlp' ? usualEndpoint : undefined)
  return own ?? (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`)
}
