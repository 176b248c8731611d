import { existsSync, statSync } from 'node:fs'
import path from 'node:path'
import { CommandUsageError, type ExitCode, exitCodes } from '../../kernel/contracts/console-command.ts'
import { maskText } from '../../lib/redact/mask-text.ts'
import { loadRedis } from '../../lib/redis/redis-connection.ts'
import { asRedisUrl, isRedisUrl } from '../../lib/text/conversion.ts'
import { describeFailure } from '../application/describe-failure.ts'
import type { Program } from '../application/program-list.ts'
import { answerLate, describeAddress, listenFor, prepareProfiler } from './profile.ts'
import { findFolder } from './profile-folder.ts'
import { storeEndedCommands } from './running-commands.ts'

/**
 * Shows profiles without a program, until the process ends: those of the programs in the folders,
 * or in a Redis, by default of all programs of this user. Resolves with an exit code if it cannot.
 */
export async function viewProfiles(folders: readonly string[], env: NodeJS.ProcessEnv): Promise<ExitCode | undefined> {
  try {
    const [url, ...more] = folders.filter(name => /^rediss?:/.test(name))
    if (url !== undefined && !isRedisUrl(url))
      throw new CommandUsageError(`"${maskText(url)}" is not ${asRedisUrl.expected}.`)
    if (url !== undefined && (more.length > 0 || folders.length > 1)) {
      throw new CommandUsageError('A URL of Redis is viewed alone: name no other URL or folder.')
    }
    if (url !== undefined) await loadRedis()
    const [first = findProgram('.'), ...others] = url === undefined ? folders.map(findStored) : []
    const { port, services, storage } = await prepareProfiler(first.directory, { ...env, PROFILER_URL: url }, first)
    await storeEndedCommands(first.files, storage)
    const shown = folders.length === 0 ? services : { ...services, others }
    const load = async () => (await import('./profile-viewer.ts')).bootViewer(shown)
    const address = await listenFor(answerLate(load, services.logger), port, false)
    process.stdout.write(describeAddress(address, env))
    // A Redis that does not answer is named before the first page.
    if (url !== undefined) await storage.load()
    return undefined
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`)
    return error instanceof CommandUsageError ? exitCodes.usage : exitCodes.failure
  }
}

/** The files of an application of ours, or those of another program. @throws CommandUsageError without a folder */
export function findProgram(folder: string): Program {
  const directory = path.resolve(folder)
  if (!statSync(directory, { throwIfNoEntry: false })?.isDirectory()) {
    const right = 'name that of a program, or for view a Redis such as redis://127.0.0.1:6379'
    throw new CommandUsageError(`"${folder}" is no folder: ${right}.`)
  }
  const own = path.join(directory, 'var')
  return { directory, files: existsSync(path.join(own, 'profiler')) ? own : findFolder(directory) }
}

function findStored(folder: string): Program {
  const program = findProgram(folder)
  if (existsSync(path.join(program.files, 'profiler'))) return program
  throw new CommandUsageError(`The folder ${folder} has no profiles: name that of a program that was profiled.`)
}
