import { createElement, recall, remember } from './browser.ts'

/** The choices of a theme. */
export const themes = ['system', 'light', 'dark'] as const

const labels = { system: 'System', light: 'Light', dark: 'Dark' }

/** Applies the stored theme, or the theme of the system by default. Adds a select for it to `place`. */
export function chooseTheme(place: Element | null): void {
  apply(recall('theme'))
  if (place === null) return
  const options = themes.map(theme => createElement('option', { value: theme }, labels[theme]))
  const select = createElement('select', { class: 'small', 'aria-label': 'Theme' }, ...options)
  select.value = recall('theme') ?? 'system'
  select.addEventListener('change', () => setTheme(select.value))
  place.append(select)
}

/** Applies a theme, and stores it. */
export function setTheme(theme: string): void {
  remember('theme', theme)
  apply(theme)
  const select = document.querySelector<HTMLSelectElement>('[data-theme-choice] select')
  if (select !== null) select.value = theme
}

function apply(theme: string | null): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}
