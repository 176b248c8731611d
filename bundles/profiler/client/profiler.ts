import { enableCopying } from './copy.ts'
import { reachScrollers } from './scrollers.ts'
import { chooseTheme } from './theme.ts'

// Rendering waits for this module, so that a dark page is never light at first; the page itself works without it.
chooseTheme(document.querySelector('[data-theme-choice]'))
enableCopying(document)
reachScrollers()
