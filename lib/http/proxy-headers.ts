import type { Headers } from './headers.ts'

/** Header fields that describe how a request was forwarded, whatever the vendor of the proxy. */
export const forwardingHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
  'via',
] as const

/** The names of fields with the address of one client. */
const addressHeaders: readonly string[] = [
  '(?:.*-)?real-ip',
  '(?:.*-)?client-?ip',
  '.*-(?:connecting|user)-ip(?:v6)?',
  'x-orig(?:in|inating)?-ip',
  'x-(?:host|peer|source)-ip',
  'x-remote-(?:ip|addr)',
  'x-ms-.*-ip',
  'x-envoy-external-address',
]

/**
 * Matches the names of header fields that proxies, load balancers, tunnels and content delivery networks add, and browsers,
 * curl and scripts of a page do not: the forwarding headers, and those of each vendor.
 */
const proxyHeader = toPattern([
  ...forwardingHeaders,
  ...addressHeaders,
  'cdn-loop',
  'forwarded',
  'forwarded-.*',
  'x-forwarded.*',
  'x-forward-.*',
  'x-original-.*',
  'x-rewrite-url',
  '(?:.*-)?real-port',
  'x-proxied-for',
  'x-(?:url-)?scheme',
  'front-end-https',
  'x-proxy(?:user)?-.*',
  'x-.*-forwarded-for',
  'cf-.*',
  'cloudfront-.*',
  'fastly-.*',
  'fly-.*',
  'akamai-.*',
  'x-akamai-.*',
  'x-amz-cf-.*',
  'x-amzn-(?:trace-id|tls-.*|oidc-.*|mtls-.*)',
  'x-appengine-.*',
  'x-cloud-trace-context',
  'x-google-.*',
  'x-goog-iap-.*',
  'x-azure-.*',
  'x-arr-.*',
  'x-envoy-.*',
  'x-nginx-.*',
  'x-varnish',
  'x-vercel-.*',
  'x-nf-.*',
  'x-ngrok-.*',
  'ngrok-.*',
  'x-heroku-.*',
  'x-render-.*',
  'x-railway-.*',
  'x-sucuri-.*',
  'incap-.*',
  'x-tailscale-.*',
  'tailscale-.*',
])

const addressHeader = toPattern(addressHeaders)

function toPattern(names: readonly string[]): RegExp {
  return new RegExp(`^(?:${names.join('|')})$`, 'i')
}

/** Finds the name of a field with the address of a client that is none of these, in lower case. */
export function findOtherAddress(headers: Headers, addresses: readonly string[]): string | undefined {
  const found = [...headers].find(([name, value]) => addressHeader.test(name) && !addresses.includes(value.trim()))
  return found?.[0].toLowerCase()
}

/** Whether a proxy has added one of the header fields, so that the peer is not the client. */
export function hasProxyHeader(headers: Headers): boolean {
  const fields = headers.toRaw()
  for (let at = 0; at < fields.length; at += 2) {
    // Names are at even indexes.
    if (proxyHeader.test(fields[at] as string)) return true
  }
  return false
}
