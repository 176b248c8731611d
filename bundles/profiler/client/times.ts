const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const full = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  timeZoneName: 'short',
})

/** Milliseconds between two updates of relative times. */
const interval = 15_000

/**
 * Shows the times of the page, which the server writes in UTC, in the time zone of the browser. Relative times are
 * updated.
 */
export function showLocalTimes(): void {
  updateTimes(document)
  for (const element of document.querySelectorAll('[data-zone]')) {
    const zone = day.resolvedOptions().timeZone
    if (zone !== 'UTC') element.textContent = `${zone} time`
  }
  setInterval(() => {
    if (!document.hidden) updateTimes(document)
  }, interval)
}

/** Updates the times of a part of the page. */
export function updateTimes(root: ParentNode): void {
  const now = Date.now()
  for (const element of root.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
    const time = new Date(element.dateTime)
    const hint = describeAge(now - time.getTime())
    const place = element.querySelector('.day')
    const clockPlace = element.querySelector('.clock')
    element.title = `${full.format(time)} (${element.dateTime})`
    if (place === null || clockPlace === null) element.textContent = `${full.format(time)}, ${hint}`
    else {
      place.textContent = now - time.getTime() < 3_600_000 ? hint : day.format(time)
      clockPlace.textContent = clock.format(time)
    }
  }
}

function describeAge(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h ago`
  return `${Math.round(seconds / 86_400)} days ago`
}
