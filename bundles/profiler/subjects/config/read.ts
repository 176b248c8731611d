import type { ConfigProcessData } from './data.ts'

/** Whether the application is a program of its own. */
export function isOfProgram(config: ConfigProcessData | undefined): boolean {
  return config?.isOneProgram === true
}
