const quote = 0x22
const backslash = 0x5c

/**
 * How deep the arrays and objects of a JSON text are nested, without parsing it: `1` has depth 0, `[{}]` depth 2. Of a
 * text that is not JSON the number says nothing.
 */
export function measureJsonDepth(text: string): number {
  let depth = 0
  let deepest = 0
  let isInString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === quote) isInString = !isInString
    else if (isInString) {
      if (code === backslash) index++
    } else if (code === 0x5b || code === 0x7b) {
      depth++
      if (depth > deepest) deepest = depth
    } else if (code === 0x5d || code === 0x7d) depth--
  }
  return deepest
}
