import { fork } from 'node:child_process'

/** A process of the benchmark that answers one message at a time. */
export class Child {
  #process
  #ended
  #settle = (/** @type {Record<string, unknown>} */ _answer) => {}

  /**
   * @param {string} file
   * @param {readonly string[]} [parameters]
   * @param {string[]} [execArgv] options of Node
   * @param {number} [core] the only processor that the process may use
   */
  constructor(file, parameters = [], execArgv = [], core) {
    // Nothing of this machine's environment but where programs are; what is printed goes to /dev/null.
    const env = { PATH: process.env.PATH, NODE_ENV: 'production' }
    const program =
      core === undefined
        ? { execArgv }
        : { execPath: 'taskset', execArgv: ['-c', `${core}`, process.execPath, ...execArgv] }
    this.#process = fork(file, parameters, { env, ...program, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#process.on('message', answer => this.#settle(Object(answer)))
    this.#ended = new Promise(resolve => this.#process.on('exit', resolve))
    this.#ended.then(code => this.#settle({ failure: `A process of the benchmark has ended with code ${code}.` }))
  }

  /**
   * Waits for the next answer.
   *
   * @returns {Promise<Record<string, unknown>>}
   */
  receive() {
    return new Promise((resolve, reject) => {
      this.#settle = answer => (answer.failure === undefined ? resolve(answer) : reject(Error(String(answer.failure))))
    })
  }

  /** @param {object} message */
  ask(message) {
    this.#process.send(message)
    return this.receive()
  }

  async end() {
    this.#process.disconnect()
    await this.#ended
  }
}
