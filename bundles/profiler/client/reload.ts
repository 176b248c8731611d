const key = 'profiler-fields'

/** The value of a field, and whether it is checked. */
type Kept = readonly [value: string, checked: boolean | undefined]

/**
 * Loads the page again. The browser keeps its position; the values of its fields are kept here,
 * but for passwords and files.
 */
export function reload(): void {
  const kept: Record<string, Kept[]> = {}
  for (const [name, { checked, value }] of listFields()) kept[name] = [...(kept[name] ?? []), [value, checked]]
  try {
    sessionStorage.setItem(key, JSON.stringify([location.href, kept]))
  } catch {
    // A page may have no access to storage.
  }
  location.reload()
}

/**
 * Gives the fields of a page that was loaded again their values, by name or id. @throws if the
 * page has no access to storage
 */
export function restoreFields(): void {
  const [url, kept] = JSON.parse(sessionStorage.getItem(key) ?? '[]') as [string?, Record<string, Kept[]>?]
  sessionStorage.removeItem(key)
  if (url !== location.href) return
  for (const [name, field] of listFields()) {
    const [value = field.value, checked = field.checked] = kept?.[name]?.shift() ?? []
    if (field.value === value && field.checked === checked) continue
    Object.assign(field, { value, checked })
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }
}

function listFields(): [name: string, HTMLInputElement][] {
  const fields = document.querySelectorAll<HTMLInputElement>('input, textarea, select')
  return [...fields].flatMap(field =>
    /^(?:password|file|hidden)$/.test(field.type) ? [] : [[`${field.type} ${field.name || field.id}`, field]],
  )
}
