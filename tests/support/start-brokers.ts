import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import { findPort } from './find-port.ts'
import { startProcess } from './start-process.ts'
import { createServerFolder, lacksPrograms, startServer } from './start-server.ts'
import { until } from './until.ts'

/** The program of RabbitMQ itself: the one in the `PATH` changes the user. */
const rabbit = '/usr/lib/rabbitmq/bin/rabbitmq-server'

/** Why tests with RabbitMQ are skipped; `false` if it is installed. */
export const lacksRabbit: string | false = existsSync(rabbit) ? false : 'needs RabbitMQ'

/** Starts an empty RabbitMQ, which ends with the test. Returns its port. */
export async function startRabbit(t: Test): Promise<number> {
  const folder = createServerFolder(t)
  const [port, inner, names] = [await findPort(), await findPort(), await findPort()]
  const settings = {
    HOME: folder,
    ERL_EPMD_PORT: names,
    RABBITMQ_NODENAME: `r${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: port,
    RABBITMQ_DIST_PORT: inner,
    RABBITMQ_MNESIA_BASE: folder,
    RABBITMQ_LOG_BASE: folder,
    RABBITMQ_PID_FILE: `${folder}/pid`,
    RABBITMQ_ENABLED_PLUGINS_FILE: `${folder}/plugins`,
  }
  const env = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  // Its service of names would outlive it; here both are in one group of processes.
  const script = `epmd -port ${names} & exec ${rabbit}`
  await startServer(t, {
    command: 'env',
    args: [...env, 'sh', '-c', script],
    ready: /completed with/,
    stop: 'SIGKILL',
  })
  return port
}

/** Why tests with Kafka are skipped; `false` if what has its broker is installed. */
export const lacksKafka: string | false = lacksPrograms('Kafka', 'kcat')

/** Starts the broker that the library of kcat has for tests, which ends with the test. Returns its port. */
export async function startKafka(t: Test): Promise<number> {
  // A consumer that waits for ever; its log has the port.
  const args = ['-C', '-b', 'none', '-t', 'none', '-X', 'test.mock.num.brokers=1', '-d', 'mock']
  const { stderr } = startProcess(t, ['kcat', ...args], { stop: 'SIGKILL' })
  let output = ''
  stderr?.on('data', text => {
    output += text
  })
  const address = /bootstrap\.servers=127\.0\.0\.1:(\d+)/
  await until(() => address.test(output))
  return Number(address.exec(output)?.[1])
}
