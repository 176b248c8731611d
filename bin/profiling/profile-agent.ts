import { exitCodes } from '../../kernel/contracts/console-command.ts'
import { Kernel } from '../../kernel/kernel.ts'
import { describeFailure } from '../application/describe-failure.ts'
import { loadCommands, runCommandLine } from '../commands/console.ts'
import { prepareProfiler } from './profile.ts'
import { createViewerOptions } from './profile-viewer.ts'
import { storeEndedCommands } from './running-commands.ts'
import { findProgram } from './view.ts'

/**
 * Answers a coding agent on stdin and stdout, from the profiles of the program in a folder. Resolves with the exit
 * code.
 */
export async function answerAgent(folder: string): Promise<number> {
  const { env, stderr, stdin, stdout } = process
  const interrupted = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())
  const terminal = { stdin, stdout, stderr, env, signal: interrupted.signal }
  try {
    const { services, storage } = await prepareProfiler(findProgram(folder).directory, env)
    await storeEndedCommands(services.files, storage)
    const kernel = await Kernel.assemble(createViewerOptions(services))
    try {
      const { commands, config } = kernel.app
      return await runCommandLine(await loadCommands(commands), ['mcp'], terminal, config.environment)
    } finally {
      await kernel.close()
    }
  } catch (error) {
    stderr.write(`${describeFailure(error)}\n`)
    return exitCodes.failure
  }
}
