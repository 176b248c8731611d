import { readFileSync } from 'node:fs'
import { parse, safeParse } from 'valibot'
import { defaultTrustedHeaders, type TrustableHeader } from '../http/trusted-proxies.ts'
import type { Logger, LogLevel } from '../log/logger.ts'
import { suggestNames } from '../text/nearest-names.ts'
import type { Environment } from './dotenv.ts'
import type { PathMapping } from './editor.ts'
import { CONFIG_INVALID } from './errors.ts'
import { createSettingsSchema, type Settings, shippedSecret } from './settings.ts'

/** The configuration from the environment. A setting that is not set or empty is `undefined` or an empty list. */
export interface Config {
  readonly environment: Environment
  /** Whether details of errors may be shown. `NODE_ENV=production` always means no. */
  readonly isDebug: boolean
  /** The key to sign and encrypt with; at least 32 characters, and never the shipped one in production. */
  readonly secret: string
  /** The allowed names in `Host`, in lower case; `*.example.org` stands for its subdomains. */
  readonly hosts: readonly string[]
  /** Addresses, subnets and names of ranges, for `TrustedProxies`. */
  readonly trustedProxies: readonly string[]
  /** The headers of trusted proxies that are believed. */
  readonly trustedHeaders: readonly TrustableHeader[]
  /** Addresses and subnets that may see debug output beside the loopback. */
  readonly debugAllowedIps: readonly string[]
  /** Names or ids of users whose clients may see debug output beside those of the server's own user. */
  readonly debugAllowedUsers: readonly string[]
  /** The key that a client has to present once to see debug output. */
  readonly debugKey: string | undefined
  /** The least level that is logged. */
  readonly logLevel: LogLevel
  /** The pattern of links that open a file in an editor, with `{file}`, `{line}` and `{column}`. */
  readonly editorUrl: string | undefined
  /** The folders that have another path for the editor than for the process. */
  readonly editorPaths: readonly PathMapping[]
  /** Whether the profiler serves coding agents (MCP) at `/_profiler/mcp`. */
  readonly isMcpOn: boolean
  /** Whether coding agents may replay requests there. */
  readonly isMcpReplayOn: boolean
  readonly databaseUrl: string | undefined
  readonly mailerDsn: string | undefined
  /** Set together with {@link Config.recaptcha3Secret}, or not at all. */
  readonly recaptcha3Key: string | undefined
  readonly recaptcha3Secret: string | undefined
  readonly adminStatusToken: string | undefined
  /** The names of the variables whose values come from `.env` files. */
  readonly dotenvNames: readonly string[]
}

/**
 * Parses the configuration from environment variables; `dotenvNames` are those that come from `.env` files.
 *
 * @throws CONFIG_INVALID with a line for every mistake, without the values of secrets
 */
export function parseConfig(
  variables: Readonly<Record<string, string | undefined>>,
  dotenvNames: readonly string[] = [],
): Config {
  const result = safeParse(createSettingsSchema(), variables)
  if (result.success) return toConfig(result.output, dotenvNames)
  const mistakes = result.issues.map(issue => `  ${issue.path?.[0].key} ${issue.message}`)
  throw new CONFIG_INVALID([mistakes.join('\n')])
}

function toConfig(settings: Settings, dotenvNames: readonly string[]): Config {
  const environment = settings.APP_ENV || 'dev'
  return Object.freeze({
    environment,
    isDebug: settings.NODE_ENV !== 'production' && (settings.APP_DEBUG ?? environment !== 'prod'),
    secret: settings.APP_SECRET,
    hosts: Object.freeze(settings.APP_HOSTS),
    trustedProxies: Object.freeze(settings.TRUSTED_PROXIES),
    trustedHeaders: Object.freeze(
      settings.TRUSTED_HEADERS.length === 0 ? [...defaultTrustedHeaders] : settings.TRUSTED_HEADERS,
    ),
    debugAllowedIps: Object.freeze(settings.DEBUG_ALLOWED_IPS),
    debugAllowedUsers: Object.freeze(settings.DEBUG_ALLOWED_USERS),
    debugKey: settings.DEBUG_KEY || undefined,
    logLevel: settings.LOG_LEVEL || (environment === 'dev' ? 'debug' : 'warning'),
    editorUrl: settings.EDITOR_URL || undefined,
    editorPaths: Object.freeze(settings.EDITOR_PATHS),
    isMcpOn: settings.PROFILER_MCP ?? false,
    isMcpReplayOn: settings.PROFILER_MCP_REPLAY ?? false,
    databaseUrl: settings.DATABASE_URL || undefined,
    mailerDsn: settings.MAILER_DSN || undefined,
    recaptcha3Key: settings.RECAPTCHA3_KEY || undefined,
    recaptcha3Secret: settings.RECAPTCHA3_SECRET || undefined,
    adminStatusToken: settings.ADMIN_STATUS_TOKEN || undefined,
    dotenvNames: Object.freeze([...dotenvNames]),
  })
}

/** A variable of a `.env` file that is not a setting. */
interface UnknownSetting {
  readonly name: string
  /** The end of a sentence: `; the nearest is "APP_HOSTS"`, or nothing. */
  readonly suggestion: string
}

/** Warns of variables in `.env` files that are not settings: a mistyped name would have no effect, without an error. */
export function warnOfUnknownSettings(dotenvNames: readonly string[], logger: Pick<Logger, 'warning'>): void {
  for (const { name, suggestion } of findUnknownSettings(dotenvNames)) {
    logger.warning('A .env file sets {name}, but there is no setting of this name{suggestion}.', { name, suggestion })
  }
}

/** Finds variables in `.env` files that are not settings. The process has many variables for other programs. */
function findUnknownSettings(dotenvNames: readonly string[]): UnknownSetting[] {
  // The output of the schema has all settings, also those that are not set.
  const settingNames = Object.keys(parse(createSettingsSchema(), { APP_SECRET: shippedSecret }))
  const unknown = dotenvNames.filter(name => !settingNames.includes(name))
  return unknown.map(name => ({ name, suggestion: suggestNames(name, settingNames) }))
}

/**
 * Finds the ids of users in `/etc/passwd`; a number is an id already.
 *
 * @throws CONFIG_INVALID that names each unknown user
 */
export function findUserIds(users: readonly string[]): readonly number[] {
  const names = users.filter(user => !isId(user))
  const known = names.length === 0 ? new Map<string, number>() : readUsers()
  const unknown = names.filter(name => !known.has(name))
  if (unknown.length > 0) {
    const mistakes = unknown.map(
      name => `  DEBUG_ALLOWED_USERS "${name}" is not a user in /etc/passwd; a numeric id is possible, too.`,
    )
    throw new CONFIG_INVALID([mistakes.join('\n')])
  }
  return users.map(user => known.get(user) ?? Number(user))
}

function isId(user: string): boolean {
  return /^\d+$/.test(user)
}

function readUsers(): ReadonlyMap<string, number> {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return new Map(lines.map(line => line.split(':')).map(([name = '', , id]) => [name, Number(id)]))
}
