/** A server at the port of an application that cannot start. */
export interface HoldingServer {
  close(): Promise<void>
}

/** A page without the reason: any client may see it. */
export const holdingPage = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="1">
<title>The application does not run</title></head>
<body>
<h1>The application does not run</h1>
<p>The terminal of the server shows the reason. This page looks every second whether the application runs again.</p>
</body></html>
`

/** The headers of {@link holdingPage}. */
export const holdingHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'cache-control': 'no-store',
  'retry-after': '1',
} as const
