import {
  chooseTheme,
  enableCopying,
  enableFlameGraph,
  enableMenus,
  enableScrollers,
  enableUnfolding,
  findRow,
  showCurrentTab,
} from './controls.ts'
import { enableDrawer } from './drawer.ts'
import { enableFiltering, enhanceEventTree } from './filter.ts'
import { enableItems, enhanceList, enhanceRoutes } from './list.ts'
import { enableVerification, followSample, followSources } from './live.ts'
import { showLocalTimes } from './page.ts'
import { enablePalette } from './palette.ts'
import { enablePlaces } from './places.ts'
import { enableShortcuts } from './shortcuts.ts'
import { enableTimeline } from './timeline.ts'
import { enableValueTrees } from './value-tree.ts'

// Rendering waits for this module, so that a dark page does not flash in light. The page also works without scripts.
chooseTheme(document.querySelector('[data-theme-choice]'))
enableCopying(document)
enableFiltering(document)
enableMenus(document)
enablePalette(document.querySelector<HTMLButtonElement>('[data-palette]'))
enableShortcuts(document)
enableDrawer()
enableTimeline(document.querySelector<HTMLFormElement>('#timeline'))
enablePlaces(document.body)
followSources(document.querySelector<HTMLElement>('main[data-sources]'))
followSample(document.querySelector('[data-armed]'))
enableFlameGraph(document.querySelector<SVGSVGElement>('svg.flame'))
showLocalTimes()
enhanceList()
enableItems()
enhanceRoutes()
enhanceEventTree(document)
enableValueTrees(document)
enableUnfolding(document)
findRow()
addEventListener('hashchange', findRow)
enableScrollers()
showCurrentTab(document.querySelector<HTMLElement>('.panels'))
enableVerification(document)
