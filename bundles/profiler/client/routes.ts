import { fetchPage } from './browser.ts'
import { LiveList } from './live-list.ts'
import { updateTimes } from './times.ts'

/** Updates the statistics of routes, or of one route, when there are new profiles. */
export function enhanceRoutes(): void {
  const results = document.querySelector<HTMLElement>('#route-statistics, #route')
  if (results === null) return
  let isLoading = false
  const load = async (url: string) => {
    isLoading = true
    live.onLoad()
    // The server may be restarting: the stream reconnects.
    const page = await fetchPage(url).catch(() => undefined)
    isLoading = false
    const fresh = page?.document.getElementById(results.id)
    if (!fresh) return false
    results.replaceChildren(...fresh.childNodes)
    updateTimes(results)
    live.onShown()
    return true
  }
  const live: LiveList = new LiveList(results, {
    get isLoading() {
      return isLoading
    },
    load,
  })
  live.onShown()
}
