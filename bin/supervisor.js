import { fork } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { build, buildWhenStale } from './build.js'
import { watchFolders } from './watch.js'

const root = path.join(import.meta.dirname, '..')
const below = (...names) => names.map(name => path.join(root, name))

/** The exit code that bin/serve.ts gives to what no change of a file can mend, such as a port that is taken. */
const usageError = 64

/** Milliseconds. The site itself sets a deadline to what it still has to do; an endless loop knows none. */
const quietTime = 60
const stopTime = 5_000

/**
 * Runs the site as a child process, and a new one whenever a source or a .env file changes, also after a crash or a type
 * error. When a template or an asset changes, the child is told to read them again.
 */
export function supervise(commandLine) {
  let child
  let ending
  let isCompiled
  let hasWarned = false
  let isStopping = false
  let isBusy = false
  let hasChanged = false
  let isStale = false

  /** When the sources do not compile, the child that is there goes on. */
  async function restart() {
    isCompiled = await (isCompiled === undefined ? buildWhenStale() : build({ isThorough: true }))
    if (!isCompiled) {
      const state = child === undefined ? 'Nothing is started' : 'What was compiled before goes on'
      console.error(`${state}: waiting for a change.`)
    }
    if (!isCompiled || isStopping) return
    await stop()
    if (!isStopping) start()
  }

  function start() {
    const options = hasWarned ? [...commandLine, '--restarted'] : commandLine
    child = fork(path.join(root, 'bin/start.js'), options, { stdio: 'inherit' })
    child.on('message', message => {
      hasWarned ||= message === 'warned'
    })
    child.once('exit', function onExit(code, signal) {
      child = undefined
      if (this === ending) return
      if (code === 0 || code === usageError) process.exit(code)
      console.error(`The site has ended (${signal ?? `exit code ${code}`}): waiting for a change.`)
    })
  }

  async function stop() {
    if (child === undefined) return
    ending = child
    ending.kill('SIGTERM')
    const timer = setTimeout(() => ending.kill('SIGKILL'), stopTime)
    await once(ending, 'exit')
    clearTimeout(timer)
  }

  function onChange(mustRestart) {
    hasChanged = true
    isStale ||= mustRestart
    if (!isBusy) void update()
  }

  function watchAll() {
    watchFolders(below('bin', 'bundles', 'kernel', 'lib'), file => isSource(file) && onChange(true))
    watchFolders(below('bundles', 'templates'), file => isVisible(file) && !isSource(file) && onChange(false))
    // The compiler reads the tests, too: a mistake that is made there is mended there.
    watchFolders(below('tests'), file => isSource(file) && isCompiled === false && onChange(true))
    watch(root, (_event, name) => isSetting(name) && onChange(true))
  }

  /** Nobody is just writing files: it starts at once, and where nothing has to be compiled, before anything is watched. */
  async function begin() {
    isBusy = true
    const started = restart()
    await nextTurn()
    watchAll()
    await started
    await update()
  }

  /** One after another: what changes meanwhile has its turn afterwards. */
  async function update() {
    isBusy = true
    while (hasChanged && !isStopping) {
      // Editors write a file in several steps, and other tools many files at once.
      while (hasChanged) {
        hasChanged = false
        await delay(quietTime)
      }
      if (isStale || child === undefined) {
        isStale = false
        await restart()
      } else {
        // Should it end just now, there is nothing to be told.
        child.send('reload', () => undefined)
      }
    }
    isBusy = false
  }

  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, async () => {
      isStopping = true
      await stop()
      process.exit(0)
    })
  }
  void begin()
}

const isSource = file => file.endsWith('.ts')
const isSetting = name => /^(?:\.env(?:\.dev)?(?:\.local)?|tsconfig\.json)$/.test(name)
/** Editors keep their own files beside those that are edited. */
const isVisible = file => !/^\.|~$/.test(path.basename(file))
