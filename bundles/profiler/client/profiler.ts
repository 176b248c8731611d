import { enableCopying } from './copy.ts'
import { enhanceList } from './list.ts'
import { chooseTheme } from './theme.ts'
import { showLocalTimes } from './times.ts'

// Rendering waits for this module, so that a dark page is never light at first; the page itself works without it.
chooseTheme(document.querySelector('[data-theme-choice]'))
enableCopying(document)
showLocalTimes()
enhanceList()
