import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { isatty } from 'node:tty'
import { findProject, readManifest } from '../../lib/find-package.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import { describeFailure } from '../application/describe-failure.ts'
import { findFolder } from './profile-folder.ts'
import { startedVariable } from './profile-refusal.ts'
import { findCommandFile } from './running-commands.ts'

/**
 * The signals that are passed to the program, each with whether terminals send it. SIGUSR1 starts
 * the debugger, and nodemon sends SIGUSR2.
 */
const passedSignals = { SIGINT: true, SIGHUP: true, SIGQUIT: true, SIGTERM: false, SIGUSR1: false, SIGUSR2: false }

/** The exit code of Node for an option that it does not know. */
const badOption = 9
const optionAdvice =
  'If Node.js has refused an option: those of the program come after its file: sinfonietta profile app.js --port 3000, ' +
  'and those of the profiler are variables: PROFILER_TOOLBAR=1 sinfonietta profile app.js\n'
const typeScriptAdvice = `Node.js ${process.versions.node} does not run TypeScript: compile the file, use a loader \
(sinfonietta profile --import tsx app.ts), or Node.js 22.18 or later.\n`

const preload = new URL('../exports/profile.js', import.meta.url).href

/**
 * Runs a file with Node and the profiler, or a program that starts Node, such as npm, and ends as it ends: with its
 * exit code, or by its signal.
 */
export function runProfiled(commandLine: readonly string[]): ChildProcess {
  const [first = '', ...rest] = commandLine
  const loss = describeLoss(commandLine)
  process.stderr.write(loss)
  const child =
    first.startsWith('-') || isModule(first)
      ? startNode(commandLine)
      : first === 'node'
        ? startNode(rest)
        : startProgram(first, rest, loss === '')
  // A terminal sends some signals to both processes; a second one would end many programs at once.
  const isInTerminal = isatty(0)
  for (const [signal, isOfTerminal] of Object.entries(passedSignals)) {
    process.on(signal, () => void ((isOfTerminal && isInTerminal) || child.kill(signal as NodeJS.Signals)))
  }
  child.on('exit', async (code, signal) => {
    process.exitCode = code ?? 1
    if (code === badOption && first.startsWith('-')) process.stderr.write(optionAdvice)
    if (
      code === 1 &&
      /\.[cm]?tsx?$/.test(first) &&
      !(Reflect.get(process.features, 'typescript') || process.env.NODE_OPTIONS)
    )
      process.stderr.write(typeScriptAdvice)
    if (signal === null) return
    await storeCommand(child.pid, signal)
    for (const each of Object.keys(passedSignals)) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
  return child
}

function startNode(commandLine: readonly string[]): ChildProcess {
  return spawn(process.execPath, ['--import', preload, ...commandLine], { stdio: 'inherit' })
}

/**
 * Whether Node finds a file for the first argument, which may be a folder, or have no extension. A script of another
 * program is none.
 */
function isModule(name: string): boolean {
  try {
    const file = createRequire(import.meta.url).resolve(path.resolve(name))
    return (
      !/\.(?:json|sh|py|html|ya?ml)$/.test(file) && !/^#!(?!.*\bnode)/.test(readFileSync(file, 'latin1').slice(0, 200))
    )
  } catch {
    return false
  }
}

/**
 * Starts a program of the folder's packages, or of the path. The processes of Node below it have the profiler. If there
 * is none, this is said at the end, unless the reason is known already.
 */
function startProgram(program: string, parameters: readonly string[], isExpected: boolean): ChildProcess {
  const { NODE_OPTIONS = '', PATH = '' } = process.env
  const folder = isExpected ? createFolder() : undefined
  const started = folder && path.join(folder, 'started')
  const end = () => folder && rmSync(folder, { recursive: true, force: true })
  const env = {
    ...process.env,
    PATH: [path.resolve('node_modules/.bin'), PATH].join(path.delimiter),
    NODE_OPTIONS: `${NODE_OPTIONS} --import=${preload}`.trim(),
    ...(started && { [startedVariable]: started }),
  }
  const child = spawn(program, parameters, { stdio: 'inherit', env })
  child.on('exit', () => {
    if (started && !existsSync(started)) process.stderr.write(`Nothing is profiled: "${program}" ${noProgram}\n`)
    end()
  })
  return child.on('error', error => {
    end()
    const right = adviseOnProgram(program)
    process.stderr.write(`There is neither a file nor a program "${program}" to profile: ${error.message}${right}.\n`)
    process.exitCode = 1
  })
}

/** A folder in which each user can write; `undefined` if there is no place for it. */
function createFolder(): string | undefined {
  try {
    const folder = mkdtempSync(path.join(tmpdir(), 'sinfonietta-'))
    chmodSync(folder, 0o733)
    return folder
  } catch {
    return undefined
  }
}

const noProgram =
  'has started no program of Node.js with the profiler. Name the file that Node.js runs: sinfonietta profile app.js'

/** What starts programs without the variables of the terminal. */
const outside =
  /^(?:(?:sudo|doas)\s(?!.*(?:-E\b|--preserve-env|NODE_OPTIONS))|(?:docker|podman|kubectl|ssh)\s(?!.*NODE_OPTIONS)|env (?:-i|-)\s)[^&;|]*$/

/** What keeps the profiler from the programs that a command line, or a script of package.json, starts. */
function describeLoss([first = '', ...rest]: readonly string[]): string {
  const variable = isModule(first) && rest.find(word => /^(?:PROFILER_\w+|DEBUG_KEY|DEBUG_ALLOWED_\w+)=/.test(word))
  const right = `${variable} sinfonietta profile ${first}`
  if (variable) return `${variable} is an argument of the program. Variables come before the command: ${right}\n`
  const script = /^(?:npm|pnpm|yarn)$/.test(first) ? findScript(rest) : undefined
  const line = script ?? [first, ...rest].join(' ')
  const place =
    script === undefined ? `"${first}"` : `The script "${rest.at(rest[0]?.startsWith('run') ? 1 : 0)}" of package.json`
  if (line.includes('sinfonietta')) return ''
  if (outside.test(line))
    return `${place} passes on no variables by default, and without them nothing is profiled. Profile behind it, such as: sudo npx sinfonietta profile app.js\n`
  if (!/\bNODE_OPTIONS=/.test(line) || /\$\{?NODE_OPTIONS/.test(line)) return ''
  return `${place} replaces NODE_OPTIONS, which has the profiler: write NODE_OPTIONS="$NODE_OPTIONS …" there.\n`
}

/** The text of a script that a package manager is to run. */
function findScript([first = '', second = '']: readonly string[]): string | undefined {
  const { scripts } = readManifest(findProject(process.cwd()))
  const text = Object(scripts)[/^run(?:-script)?$/.test(first) ? second : first]
  return scripts === undefined ? undefined : String(text ?? '')
}

/** The end of a sentence about a file that does not exist, or cannot be run. */
function adviseOnProgram(program: string): string {
  if (/^[A-Z_]+=/.test(program)) return `; variables come before the command: ${program} sinfonietta profile app.js`
  if (statSync(program, { throwIfNoEntry: false })?.isFile())
    return '; it is no file of JavaScript that node starts, and no program: chmod +x makes one of a script, which begins with ./'
  if (isModule(program.replace(/ .*/, '')) || /^(?:node|npm|npx) /.test(program))
    return '; its arguments are words of their own, without quotes around them'
  if (statSync(program, { throwIfNoEntry: false })?.isDirectory())
    return '; this is a folder without an index.js: name the file that node starts'
  const folder = path.dirname(path.resolve(program))
  const nearest = suggestNames(path.basename(program), existsSync(folder) ? readdirSync(folder) : [])
  return nearest || '; name the file that node starts, such as app.js, or a program such as npm run dev'
}

/** Stores the profile that a program has written before a signal has ended it, if it is a command. */
async function storeCommand(pid: number | undefined, signal: string): Promise<void> {
  const directory = process.cwd()
  if (pid === undefined || !existsSync(findCommandFile(findFolder(directory), pid))) return
  try {
    const { storeEndedCommand } = await import('./profile.ts')
    await storeEndedCommand(directory, pid, signal)
  } catch (error) {
    process.stderr.write(`The profile of the program cannot be stored: ${describeFailure(error)}\n`)
  }
}
