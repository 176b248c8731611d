import { recall, remember } from './memory.ts'

const themes = ['system', 'light', 'dark'] as const

const labels = { system: 'System', light: 'Light', dark: 'Dark' }

/** Shows pages light or dark: as it was chosen, else as the system is; offers the choice where there is room for it. */
export function chooseTheme(place: Element | null): void {
  const apply = (theme: string | null) => {
    if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
    else delete document.documentElement.dataset.theme
  }
  apply(recall('theme'))
  if (place === null) return
  const select = document.createElement('select')
  select.className = 'small'
  select.setAttribute('aria-label', 'Theme')
  select.append(...themes.map(theme => new Option(labels[theme], theme)))
  select.value = recall('theme') ?? 'system'
  select.addEventListener('change', () => {
    remember('theme', select.value)
    apply(select.value)
  })
  place.append(select)
}
