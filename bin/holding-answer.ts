/** A server at the port of an application that cannot start. */
export interface HoldingServer {
  close(): Promise<void>
}

const style = `body { max-width: 34rem; margin: 18vh auto; padding: 0 1.5rem; font: 1rem/1.6 system-ui, sans-serif }
h1 { margin: 0 0 0.5rem; padding-top: 1rem; border-top: 4px solid light-dark(#a2231d, #f2958c); font-size: 1.5rem; line-height: 1.3 }
`

/** A page without the reason: any client may see it. */
export const holdingPage: string = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="1">
<title>The application does not run</title><style>${style}</style></head>
<body>
<h1>The application does not run</h1>
<p>The terminal of the server shows the reason. This page looks every second whether the application runs again.</p>
</body></html>
`

/** The headers of {@link holdingPage}. */
export const holdingHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
  'cache-control': 'no-store',
  'retry-after': '1',
} as const
