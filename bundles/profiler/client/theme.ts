import { createElement, recall, remember } from './browser.ts'

const themes = ['system', 'light', 'dark'] as const

const labels = { system: 'System', light: 'Light', dark: 'Dark' }

/** Applies the stored theme, or the theme of the system by default. Adds a select for it to `place`. */
export function chooseTheme(place: Element | null): void {
  const apply = (theme: string | null) => {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
    else delete document.documentElement.dataset.theme
  }
  apply(recall('theme'))
  if (place === null) return
  const options = themes.map(theme => createElement('option', { value: theme }, labels[theme]))
  const select = createElement('select', { class: 'small', 'aria-label': 'Theme' }, ...options)
  select.value = recall('theme') ?? 'system'
  select.addEventListener('change', () => {
    remember('theme', select.value)
    apply(select.value)
  })
  place.append(select)
}
