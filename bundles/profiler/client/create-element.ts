/** What an element has beside its attributes. */
export type Child = Node | string

/** Makes an element; attributes that are `undefined` are left away. */
export function createElement<name extends keyof HTMLElementTagNameMap>(
  name: name,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[name] {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(attribute, value)
  }
  element.append(...children)
  return element
}
