/** A place in a template. */
export interface TemplatePlace {
  /** The name of the template, such as `site/page`. */
  readonly name: string
  /** The absolute path. */
  readonly file: string
  /** From 1. */
  readonly line: number
  /** From 1. */
  readonly column: number
}

const frameLimit = 10

/** Adds places in templates to the stack of an error, as its innermost calls: at most ten. */
export function addFrames<error extends Error>(error: error, places: readonly TemplatePlace[]): error {
  const frames = places
    .slice(0, frameLimit)
    .map(({ column, file, line, name }) => `    at template ${name} (${file}:${line}:${column})\n`)
  const { message, stack = '' } = error
  const start = stack.indexOf(`${message}\n`)
  // Without calls, the stack ends with the message.
  const end = start === -1 ? stack.length : start + message.length + 1
  const head = start === -1 ? `${stack}\n` : stack.slice(0, end)
  error.stack = `${head}${frames.join('')}${stack.slice(end)}`
  return error
}

/** The templates in which a failure was noted, innermost first. */
const noted = new WeakMap<object, string[]>()

/** Notes that a failure has ended the render of a template. Called for the innermost template first. */
export function noteTemplate(failure: unknown, name: string): void {
  // A thrown value that is no object gets a new key here, so it is not found again.
  const key: object = Object(failure)
  const names = noted.get(key)
  if (names === undefined) noted.set(key, [name])
  else names.push(name)
}

/** The templates in which a failure was noted, innermost first; none if the renders are not traced. */
export function notedTemplates(failure: unknown): readonly string[] {
  return noted.get(Object(failure)) ?? []
}
