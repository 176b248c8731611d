/** The code of an error of the operating system, such as `ENOENT`. */
export function codeOf(error: unknown): string {
  // What node:fs and process.kill() throw is of this kind.
  return String((error as NodeJS.ErrnoException).code)
}
