import { spawnSync } from 'node:child_process'

/**
 * The reason for which tests are skipped that install packages of others; false if they can be run. Other proofs have a
 * registry with the packages of this repository only.
 */
export const noRegistry: string | false =
  spawnSync('npm', ['ping'], { timeout: 20_000 }).status === 0 ? false : 'the registry of npm does not answer'
