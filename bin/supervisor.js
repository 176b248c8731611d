import { fork } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import inspector from 'node:inspector'
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
const firstWait = 100
const longestWait = 30_000

/**
 * Runs the site as a child process. A changed source or .env file starts a new child, also after a crash or a type error.
 * A child that crashes while it serves is replaced at once; a child that cannot start waits for a change. A changed
 * template or asset makes the child read its templates and assets again.
 */
export function supervise(commandLine) {
  // With NODE_OPTIONS=--inspect, the debugger is for the child, which needs the port.
  if (inspector.url() !== undefined) inspector.close()
  let child
  let wait = 0
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
    let servesSince
    child = fork(path.join(root, 'bin/start.js'), options, { stdio: 'inherit' })
    child.on('message', message => {
      hasWarned ||= message === 'warned'
      if (message === 'listening') servesSince = performance.now()
    })
    child.once('exit', function onExit(code, signal) {
      child = undefined
      if (this === ending) return
      if (code === 0 || code === usageError) process.exit(code)
      void recover(signal ?? `exit code ${code}`, servesSince)
    })
  }

  /** A crash within the first moments may come back at each start: the waits grow then. */
  async function recover(reason, servesSince) {
    if (servesSince === undefined) {
      console.error(`The site has ended (${reason}): waiting for a change.`)
      return
    }
    wait = Math.min(Math.max(2 * wait - (performance.now() - servesSince), firstWait), longestWait)
    console.error(`The site has ended (${reason}): starting again in ${(wait / 1000).toFixed(1)} s.`)
    await delay(wait)
    if (child === undefined && !isBusy && !isStopping) start()
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
    watch(root, (_event, name) => {
      if (!isSetting(name)) return
      // What is said at the start depends on the settings: names that no setting has, the link with the key.
      hasWarned = false
      onChange(true)
    })
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
