import type { PatternForm } from './pattern-form.ts'
import type { Route } from './route.ts'

/**
 * Narrows the routes down to the few that a path may be for. What it leaves out cannot match, and the order is kept, so
 * trying the candidates gives what trying every route in order would give.
 *
 * Fixed paths are known beforehand with all routes that take them. Patterns hang in a tree of their leading fixed
 * segments; each node has the patterns of all shorter prefixes too, so one node is the complete list. A walk ends where
 * the tree ends: a path of a thousand segments costs no more than the longest prefix.
 */
export class RouteIndex {
  readonly #fixed = new Map<string, readonly Route[]>()
  readonly #longestFixed: number
  readonly #root: Node = createNode()

  constructor(routes: Iterable<Route>) {
    const positions = new Map([...routes].map((route, position) => [route, position]))
    const inOrder = (some: Iterable<Route>): Route[] =>
      [...new Set(some)].sort((one, other) => Number(positions.get(one)) - Number(positions.get(other)))

    const fixed = new Map<string, Route[]>()
    for (const route of positions.keys()) {
      for (const { leadingText } of route.path.forms.filter(form => form.isFixed)) {
        fixed.set(leadingText, [...(fixed.get(leadingText) ?? []), route])
      }
      if (route.path.forms.some(form => !form.isFixed)) this.#plant(route)
    }
    this.#longestFixed = Math.max(0, ...[...fixed.keys()].map(path => path.length))
    handDown(this.#root, inOrder)
    for (const [path, own] of fixed) {
      const patterns = this.#findNode(path).candidates.filter(route => route.path.match(path)?.names)
      this.#fixed.set(path, inOrder([...own, ...patterns]))
    }
  }

  /** The routes that may take this path, in order. */
  candidates(path: string): readonly Route[] {
    // A path that is longer than all of them need not be hashed.
    const fixed = path.length > this.#longestFixed ? undefined : this.#fixed.get(path)
    return fixed ?? this.#findNode(path).candidates
  }

  #plant(route: Route): void {
    let node = this.#root
    for (const segment of leadingSegments(route.path.forms)) {
      const child = node.children.get(segment) ?? createNode()
      node.children.set(segment, child)
      node = child
    }
    node.candidates.push(route)
  }

  #findNode(path: string): Node {
    let node = this.#root
    let start = 1
    while (node.children.size > 0 && start > 0) {
      const slash = path.indexOf('/', start)
      const child = node.children.get(slash === -1 ? path.slice(start) : path.slice(start, slash))
      if (child === undefined) break
      node = child
      start = slash + 1
    }
    return node
  }
}

interface Node {
  /** Only the node's own patterns at first; `handDown` adds those of the nodes above. */
  candidates: Route[]
  readonly children: Map<string, Node>
}

function createNode(): Node {
  return { candidates: [], children: new Map() }
}

function handDown(node: Node, inOrder: (some: Iterable<Route>) => Route[]): void {
  for (const child of node.children.values()) {
    child.candidates = inOrder([...node.candidates, ...child.candidates])
    handDown(child, inOrder)
  }
}

/** The whole segments with which every form begins. */
function leadingSegments(forms: readonly PatternForm[]): string[] {
  const [first = [], ...others] = forms.map(form => form.leadingText.split('/').slice(1, form.isFixed ? undefined : -1))
  const differs = first.findIndex((segment, depth) => others.some(other => other[depth] !== segment))
  return differs === -1 ? first : first.slice(0, differs)
}
