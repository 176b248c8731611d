import { Headers } from 'sinfonietta'
import { t } from 'tap'
import { findOtherAddress, forwardingHeaders, hasProxyHeader } from '#lib/http/trusted-proxies.ts'

/** What nginx, Apache, HAProxy, Envoy, tunnels, clouds and delivery networks add, by their documentation. */
const added = `
  Via Forwarded Forwarded-For Forwarded-Proto Client-IP X-Client-IP True-Client-IP X-True-Client-IP ClientIP
  X-Cluster-Client-IP Fastly-Client-IP Fastly-SSL Fastly-FF Fly-Client-IP Fly-Forwarded-Port Fly-Region
  WL-Proxy-Client-IP Proxy-Client-IP X-Nf-Client-Connection-IP CF-Connecting-IP CF-Connecting-IPv6 CF-Pseudo-IPv4
  CF-Ray CF-Visitor CF-IPCountry CF-Worker CDN-Loop DO-Connecting-IP X-Real-IP X-Forwarded X-Forwarded-For
  X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Port X-Forwarded-Server X-Forwarded-Scheme X-Forwarded-Ssl
  X-Forwarded-Prefix X-Forwarded-Path X-Forwarded-Uri X-Forwarded-By X-Forwarded-Client-Cert X-Forwarded-User
  X-Original-For X-Original-Forwarded-For X-Original-Host X-Original-URL X-Original-Proto X-Original-Remote-Addr
  X-Rewrite-URL X-Remote-IP X-Remote-Addr X-ProxyUser-Ip X-Host-IP X-Azure-ClientIP X-Azure-FDID X-Azure-Ref
  X-Azure-SocketIP X-ARR-SSL X-ARR-LOG-ID X-MS-Forwarded-Client-IP X-Envoy-External-Address
  X-Envoy-Original-Path X-Envoy-Expected-Rq-Timeout-Ms X-Amzn-Trace-Id X-Amz-Cf-Id X-Appengine-User-Ip
  X-Appengine-Country X-Cloud-Trace-Context X-Goog-IAP-JWT-Assertion CloudFront-Viewer-Address
  CloudFront-Is-Mobile-Viewer Akamai-Origin-Hop X-Akamai-Edgescape Incap-Client-IP X-Sucuri-ClientIP
  X-Vercel-Forwarded-For X-Vercel-Id X-Varnish Tailscale-User-Login Ngrok-Trace-Id X-Heroku-Queue-Wait-Time
  X-Real-Port Ali-Cdn-Real-Ip X-Originating-IP X-Origin-IP X-Source-IP X-Proxied-For X-Scheme X-Url-Scheme Front-End-Https
  X-Forward-For X-Forward-Proto X-Acme-Forwarded-For X-Google-Real-Host X-Nginx-Proxy X-Ngrok-Host X-Render-Origin-Server
  X-Railway-Edge X-Sucuri-Country Incap-Proxy X-Tailscale-User X-Request-Start X-Coming-From X-BlueCoat-Via X_Forwarded_For X_Real_IP
`

/** What Chromium, Firefox, Safari, curl, fetch and XMLHttpRequest of pages, and coding agents send. */
const ordinary = `
  Host Connection Keep-Alive User-Agent Accept Accept-Charset Accept-Encoding Accept-Language Accept-Datetime
  Cache-Control Pragma Cookie Origin Referer Upgrade-Insecure-Requests Upgrade DNT Sec-GPC Priority Purpose TE
  Sec-Purpose Sec-Fetch-Site Sec-Fetch-Mode Sec-Fetch-User Sec-Fetch-Dest Sec-Fetch-Storage-Access Sec-CH-UA
  Sec-CH-UA-Mobile Sec-CH-UA-Platform Sec-CH-UA-Full-Version-List Sec-CH-Prefers-Color-Scheme Sec-CH-Viewport-Width
  Sec-WebSocket-Key Device-Memory Downlink ECT RTT Save-Data Viewport-Width Width DPR Content-Type Content-Length
  Content-Encoding Content-Language Transfer-Encoding Expect Range If-Range If-Match If-None-Match If-Modified-Since
  If-Unmodified-Since Authorization From Max-Forwards Trailer Date Access-Control-Request-Method
  Access-Control-Request-Headers Access-Control-Request-Private-Network Service-Worker Last-Event-ID Early-Data
  X-Requested-With X-CSRF-Token X-XSRF-Token X-HTTP-Method-Override X-Request-Id X-Correlation-Id Traceparent
  Tracestate Baggage B3 X-B3-TraceId Sentry-Trace HX-Request HX-Current-URL Turbo-Frame X-Turbo-Request-Id X-Inertia
  X-Profiler X-Profiler-Toolbar X-Debug-Key MCP-Protocol-Version MCP-Session-Id Idempotency-Key Prefer Ping-From
  Ping-To Alt-Used X-Api-Key X-Custom Apikey Client-Id X-User-Id X-Client-Version Viable Device Via-Nothing
`

const namesIn = (text: string) => text.trim().split(/\s+/)

t.test('header fields that a proxy adds are known, in any case', async t => {
  for (const name of [...namesIn(added), ...forwardingHeaders]) {
    t.ok(
      hasProxyHeader(
        new Headers([
          ['host', 'localhost'],
          [name, ''],
        ]),
      ),
      name,
    )
    t.ok(hasProxyHeader(new Headers([[name.toLowerCase(), 'x']])), name)
  }
})

t.test('a field with the address of another client is found, in any case', async t => {
  const names =
    'X-Real-IP CF-Connecting-IP CF-Connecting-IPv6 True-Client-IP X-Client-IP Client-IP ClientIP Fly-Client-IP X-Remote-IP X-Azure-ClientIP'
  const known = ['192.0.2.1', '::1']
  const wrong = namesIn(names).filter(name => {
    const find = (...values: string[]) =>
      findOtherAddress(new Headers(values.map((value): [string, string] => [name, value])), known)
    const finds = [find('192.0.2.1'), find(' ::1 '), find('192.0.2.2'), find('192.0.2.1', '192.0.2.2')]
    return String(finds) !== `,,${name.toLowerCase()},${name.toLowerCase()}`
  })
  t.strictSame(wrong, [])
  t.equal(
    findOtherAddress(new Headers(namesIn(ordinary).map((name): [string, string] => [name, 'x'])), known),
    undefined,
  )
})

t.test('headers of clients are no proxy headers, whatever their values are', async t => {
  const names = namesIn(ordinary)
  for (const name of names) t.notOk(hasProxyHeader(new Headers([[name, 'via']])), name)
  t.notOk(hasProxyHeader(new Headers(names.map((name): [string, string] => [name, 'x-forwarded-for']))))
})
