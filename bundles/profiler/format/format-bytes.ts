/** Writes a number of bytes for people, in the units of 1024: `512 B`, `4.2 KiB`, `-1.5 MiB`. */
export function formatBytes(bytes: number): string {
  const size = Math.abs(bytes)
  if (size < 1024) return `${bytes} B`
  if (size < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`
  if (size < 1024 ** 3) return `${(bytes / 1024 ** 2).toFixed(1)} MiB`
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`
}
