/** What kinds of things take time, in the order of their lanes; the name is also a class and a parameter of the page. */
export const categories = [
  { name: 'kernel', label: 'Kernel', letter: 'K' },
  { name: 'event', label: 'Application events', letter: 'E' },
  { name: 'listener', label: 'Listeners', letter: 'L' },
  { name: 'controller', label: 'Controller', letter: 'C' },
  { name: 'template', label: 'Templates', letter: 'T' },
  { name: 'http', label: 'Outgoing HTTP', letter: 'H' },
  { name: 'stopwatch', label: 'Stopwatch', letter: 'S' },
  { name: 'request', label: 'Sub-Requests', letter: 'R' },
] as const

/** One of {@link categories}. */
export type Category = (typeof categories)[number]['name']
