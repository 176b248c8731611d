import type { Foundation } from '../../../kernel/bundle.ts'
import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Config } from '../../../lib/env/config.ts'
import type { Settings } from '../../../lib/env/settings.ts'
import { mask } from '../../../lib/redact/secret-names.ts'

/** Creates the command that lists the configuration. Values that may be secret are masked. */
export function createDebugConfig({ bundles, config, redactor }: Foundation): ConsoleCommand {
  return {
    name: 'debug:config',
    description: 'Lists the settings, with secrets masked, and where each comes from',
    arguments: [
      {
        name: 'setting',
        description: 'a part of the name',
        isOptional: true,
        suggest: () => Object.keys(readers).map(name => [name, '']),
      },
    ],
    examples: [
      { line: 'debug:config', purpose: 'lists all settings' },
      { line: 'debug:config APP_ --env prod', purpose: 'lists some settings as production has them' },
    ],
    run({ arguments: { setting = '' } }, output) {
      const variables = redactor.environment()
      const all = Object.entries(readers).map(([name, read]) => ({
        name,
        value: read(config, variables),
        from: originOf(name, variables[name], config),
      }))
      const found = all.filter(({ name }) => name.includes(setting.toUpperCase()))
      if (found.length === 0) {
        output.error(`There is no setting "${setting}".`)
        return exitCodes.failure
      }
      const table = {
        columns: [{ title: 'Setting', cut: 'never' }, { title: 'Value' }, { title: 'From' }],
        rows: found.map(({ from, name, value }) => [name, value, from]),
      } as const
      const summary = `${config.environment}, debug ${config.isDebug ? 'on' : 'off'}, bundles: ${bundles.join(', ')}`
      output.print({
        blocks: [
          { kind: 'text', text: summary, tone: 'muted' },
          { kind: 'table', table },
        ],
        json: { environment: config.environment, isDebug: config.isDebug, bundles, settings: found },
      })
      return exitCodes.success
    },
  }
}

const masked = (value: string | undefined) => (value === undefined ? '' : mask)

type Reader = (config: Config, variables: Readonly<Record<string, string>>) => string

/** Reads the effective value of each setting, which is the default of a setting that is not set. */
const readers: Readonly<Record<keyof Settings, Reader>> = {
  NODE_ENV: (_config, { NODE_ENV = '' }) => NODE_ENV,
  APP_ENV: ({ environment }) => environment,
  APP_DEBUG: ({ isDebug }) => (isDebug ? 'on' : 'off'),
  APP_SECRET: ({ secret }) => masked(secret),
  APP_HOSTS: ({ hosts }) => hosts.join(', '),
  TRUSTED_PROXIES: ({ trustedProxies }) => trustedProxies.join(', '),
  TRUSTED_HEADERS: ({ trustedHeaders }) => trustedHeaders.join(', '),
  DEBUG_ALLOWED_IPS: ({ debugAllowedIps }) => debugAllowedIps.join(', '),
  DEBUG_ALLOWED_USERS: ({ debugAllowedUsers }) => debugAllowedUsers.join(', '),
  DEBUG_KEY: ({ debugKey }) => masked(debugKey),
  LOG_LEVEL: ({ logLevel }) => logLevel,
  EDITOR_URL: ({ editorUrl }) => editorUrl ?? '',
  EDITOR_PATHS: ({ editorPaths }) => editorPaths.map(({ from, to }) => `${from}=${to}`).join(', '),
  PROFILER_MCP: ({ isMcpOn }) => (isMcpOn ? 'on' : 'off'),
  PROFILER_MCP_REPLAY: ({ isMcpReplayOn }) => (isMcpReplayOn ? 'on' : 'off'),
  DATABASE_URL: ({ databaseUrl }) => masked(databaseUrl),
  MAILER_DSN: ({ mailerDsn }) => masked(mailerDsn),
  RECAPTCHA3_KEY: ({ recaptcha3Key }) => masked(recaptcha3Key),
  RECAPTCHA3_SECRET: ({ recaptcha3Secret }) => masked(recaptcha3Secret),
  ADMIN_STATUS_TOKEN: ({ adminStatusToken }) => masked(adminStatusToken),
}

function originOf(name: string, value: string | undefined, { dotenvNames }: Config): string {
  if (value === undefined || value === '') return 'default'
  return dotenvNames.includes(name) ? '.env files' : 'environment'
}
