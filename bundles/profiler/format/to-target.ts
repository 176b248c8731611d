/** Writes an address as a server sees it: its path and query. */
export function toTarget(url: string): string {
  return url.replace(/^https?:\/\/[^/]*(?=\/)/, '')
}
