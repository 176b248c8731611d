/** The theme of the pages: that of the system, or the one that the reader has chosen. The profiler has the same choice. */
const { dataset } = document.documentElement
const next = { light: 'dark', dark: 'system' }

/** Applies the stored theme. `button` changes it. */
export function chooseTheme(button) {
  apply(button, recall())
  button.hidden = false
  button.addEventListener('click', () => {
    const theme = next[dataset.theme] ?? 'light'
    remember(theme)
    apply(button, theme)
  })
}

function apply(button, theme) {
  if (theme === 'light' || theme === 'dark') dataset.theme = theme
  else delete dataset.theme
  button.title = `Theme: ${dataset.theme ?? 'system'}`
  button.setAttribute('aria-label', button.title)
}

/** A browser may refuse access to its storage. */
function recall() {
  try {
    return localStorage.getItem('theme')
  } catch {
    return null
  }
}

function remember(theme) {
  try {
    localStorage.setItem('theme', theme)
  } catch {
    // The theme holds for this page only.
  }
}
