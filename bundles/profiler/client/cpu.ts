import { fetchPage } from './browser.ts'

/** The page that waits for a request to be sampled opens its profile then. */
export function followSample(waiting: HTMLElement | null): void {
  if (waiting === null) return
  const source = new EventSource(waiting.dataset.armed ?? '')
  const check = async () => {
    const { document: page } = await fetchPage(location.href)
    if (page.querySelector('[data-armed]') !== null) return
    const link = page.querySelector<HTMLAnchorElement>('[data-sampled]')?.getAttribute('href')
    // Another process may have sampled the request: then only the page changes.
    if (!link) {
      source.close()
      location.reload()
      return
    }
    // While the request is handled, it has no profile.
    const url = new URL(link, location.href).href
    await fetchPage(url)
    source.close()
    location.assign(url)
  }
  const tryCheck = () => void check().catch(() => undefined)
  for (const type of ['open', 'profiles', 'reload']) source.addEventListener(type, tryCheck)
}
