import path from 'node:path'

/** The path of a file as people see it: relative to a directory for a file below it, otherwise unchanged. */
export function showPath(file: string, directory: string): string {
  return file.startsWith(directory + path.sep) ? file.slice(directory.length + 1) : file
}
