import { readFileSync } from 'node:fs'
import { parseHost } from '../http/request-target.ts'
import {
  createAddressList,
  defaultTrustedHeaders,
  privateRangesNames,
  type TrustableHeader,
  trustableHeaders,
} from '../http/trusted-proxies.ts'
import { type LogLevel, logLevels } from '../log/logger.ts'
import { asFlag, asListOf, asOneOf, asText, type Conversion } from '../text/conversion.ts'
import { nearestNames } from '../text/mistakes.ts'
import { type Environment, environmentOf, environments } from './dotenv.ts'
import { CONFIG_INVALID } from './errors.ts'
import { defineSettings, kernelName, type Settings } from './settings.ts'

/** The kernel's own settings. A list that is not set is empty. */
export interface Config {
  /** The setting `APP_ENV`: `dev`, `prod` or `test`. */
  readonly environment: Environment
  /** Whether details of errors may be shown. `NODE_ENV=production` always means no. */
  readonly isDebug: boolean
  /** The key to sign and encrypt with; at least 32 characters, and never the shipped one in production. */
  readonly secret: string
  /** Earlier secrets, whose signatures and encrypted texts are still accepted. */
  readonly oldSecrets: readonly string[]
  /** The address for URLs without a request: `https://example.org`, or with a path; without a slash at its end. */
  readonly url: string | undefined
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
}

/** The `APP_SECRET` of a new application, and of one without the setting. It is public: only for development. */
export const shippedSecret = 'shipped-for-development-only-never-for-production'

/**
 * Declares and reads the kernel's own settings. A setting with a mistake has a provisional value, with
 * which bundles can be loaded, so that {@link Settings.check} reports mistakes in their settings, too.
 */
export function readConfig(settings: Settings): Config {
  // The defaults of other settings depend on these two.
  const [APP_ENV, NODE_ENV] = [settings.textOf('APP_ENV'), settings.textOf('NODE_ENV')]
  const name = environmentOf({ APP_ENV, NODE_ENV })
  const environment = asEnvironment.convert(name) ?? 'prod'
  const isProduction = NODE_ENV === 'production'
  const isSecretOwn = name === 'prod' || isProduction || asFlag.convert(settings.textOf('APP_DEBUG') ?? '') === false
  const disagreement = describeDisagreement(settings)
  const advice = disagreement === undefined ? '' : `. ${disagreement}`
  const values = settings.declare(kernelName, createKernelSettings({ environment, isProduction, isSecretOwn, advice }))
  return Object.freeze({
    environment,
    isDebug: !isProduction && (values.APP_DEBUG ?? false),
    secret: values.APP_SECRET ?? '',
    oldSecrets: values.APP_SECRET_OLD ?? none,
    url: values.APP_URL,
    hosts: values.APP_HOSTS ?? none,
    trustedProxies: values.TRUSTED_PROXIES ?? none,
    trustedHeaders: values.TRUSTED_HEADERS ?? none,
    debugAllowedIps: values.DEBUG_ALLOWED_IPS ?? none,
    debugAllowedUsers: values.DEBUG_ALLOWED_USERS ?? none,
    debugKey: values.DEBUG_KEY,
    logLevel: values.LOG_LEVEL ?? 'warning',
  })
}

/**
 * What is wrong if `NODE_ENV` is `production`, but `APP_ENV` chooses another environment: a new
 * application has `APP_ENV=dev` in its `.env`, which then has no debug output, but is not in production.
 */
export function describeDisagreement(settings: Settings): string | undefined {
  const APP_ENV = settings.textOf('APP_ENV')
  if (settings.textOf('NODE_ENV') !== 'production' || APP_ENV === undefined || APP_ENV === 'prod') return undefined
  const file = settings.files.APP_ENV
  const place = file === undefined ? '' : ` in ${file}`
  return `NODE_ENV is production, but APP_ENV is ${APP_ENV}${place}: set APP_ENV=prod in .env.local or the environment`
}

const none: readonly never[] = Object.freeze([])
const asEnvironment = asOneOf(...environments)

const asNodeEnv: Conversion<string> = {
  expected: 'a name that libraries know, such as production or development',
  // On Windows, `set NODE_ENV=production && node …` ends the value with a blank.
  convert: text =>
    text === 'production' || (!/^(?:prod|live)$|\s/i.test(text) && !isMistyped(text)) ? text : undefined,
}

function isMistyped(text: string): boolean {
  return nearestNames(text.toLowerCase(), ['production'], 2).length > 0
}

/** The conditions that the kernel's own settings depend on. */
interface KernelConditions {
  readonly environment: Environment
  /** Whether `NODE_ENV` is `production`. */
  readonly isProduction: boolean
  /** Whether the secret must not be the shipped one. */
  readonly isSecretOwn: boolean
  /** The end of the message about the secret. */
  readonly advice: string
}

function createKernelSettings(conditions: KernelConditions) {
  const { environment, isProduction, isSecretOwn, advice } = conditions
  return defineSettings(
    {
      NODE_ENV: {
        help: 'production turns debug off; without APP_ENV, it also chooses prod',
        // Otherwise a server in production would show debug output, without a word.
        schema: environment === 'dev' ? asNodeEnv : asText,
        default: undefined,
      },
      APP_ENV: {
        help: 'the environment: dev is for your own machine, prod for all others',
        schema: asEnvironment,
        default: isProduction ? 'prod' : 'dev',
      },
      APP_DEBUG: {
        help: 'shows details of errors; the profiler and all debug output also need APP_ENV=dev',
        schema: asFlag,
        default: environment !== 'prod' && !isProduction,
      },
      /**
       * The public one of a new application is refused in `prod`, and where debug is off. See
       * docs/guides/protection.md#signed-and-encrypted-cookies.
       */
      APP_SECRET: {
        help: 'for signatures and encryption, by app.secrets',
        schema: createSecretConversion(isSecretOwn, advice),
        secret: true,
        ...(environment !== 'prod' && !isSecretOwn && { default: shippedSecret }),
      },
      APP_SECRET_OLD: {
        help: 'earlier values of APP_SECRET: what they have signed or encrypted is still accepted',
        schema: asListOf(asOldSecret),
        default: none,
        secret: true,
      },
      /** It may have a path. */
      APP_URL: {
        help: 'the address of the application, for links in mails and commands, such as https://example.org',
        schema: asAddressOfSite,
        default: undefined,
      },
      /**
       * In `prod` other hosts are refused, and without the setting a warning is logged at the start; in `dev` they are
       * added to the host names with debug output.
       */
      APP_HOSTS: {
        help: 'the host names of the application, such as example.org,*.example.org',
        schema: asHosts,
        default: none,
      },
      /** `private_ranges` stands for the loopback and all private networks. */
      TRUSTED_PROXIES: {
        help: 'proxies that may name the address, scheme, host and port of a client',
        schema: asListOf(asProxy),
        default: none,
      },
      /**
       * List only the headers that the proxy writes, because a proxy passes on all others as the client has sent them.
       */
      TRUSTED_HEADERS: {
        help: 'the headers that these proxies write',
        schema: asListOf(asTrustableHeader),
        default: Object.freeze([...defaultTrustedHeaders]),
      },
      DEBUG_ALLOWED_IPS: {
        help: 'addresses of clients that see debug output, in addition to this machine',
        schema: asListOf(asAddress),
        default: none,
      },
      /** Names are looked up in `/etc/passwd` at the start. */
      DEBUG_ALLOWED_USERS: {
        help: "users whose programs on this machine see debug output, in addition to the server's own user (Linux)",
        schema: asListOf(asUser),
        default: none,
      },
      /** Clients show it by the link that is printed at the start, or in the header `x-debug-key`. */
      DEBUG_KEY: {
        help: 'a secret that clients must show to see debug output',
        schema: asDebugKey,
        default: undefined,
        secret: true,
      },
      LOG_LEVEL: {
        help: 'the lowest level that is logged',
        schema: asOneOf(...logLevels),
        default: environment === 'dev' ? 'info' : 'warning',
      },
    },
    findProxyMistakes,
  )
}

interface ProxySettings {
  readonly TRUSTED_HEADERS: readonly TrustableHeader[]
  readonly TRUSTED_PROXIES: readonly string[]
}

/** Headers that nothing reads, and proxies that any client could be, or none. */
function findProxyMistakes({
  TRUSTED_HEADERS,
  TRUSTED_PROXIES,
}: ProxySettings): Partial<Record<keyof ProxySettings, string>> {
  const all = TRUSTED_PROXIES.find(entry => /\/0+$/.test(entry))
  const none = TRUSTED_PROXIES.find(entry => /^(?:0\.0\.0\.0|::)$/.test(entry))
  if (all !== undefined)
    return {
      TRUSTED_PROXIES: `"${all}" would let each client choose its address: name the proxies, or private_ranges.`,
    }
  if (none !== undefined)
    return { TRUSTED_PROXIES: `"${none}" is the address of no proxy: name the proxies, or private_ranges.` }
  const isUsual = TRUSTED_HEADERS.join() === defaultTrustedHeaders.join()
  return TRUSTED_PROXIES.length > 0 || isUsual
    ? {}
    : { TRUSTED_HEADERS: 'has no effect without TRUSTED_PROXIES: set it to the address of the proxy.' }
}

/** A command for each system: Windows has no openssl. */
const makeSecret = `node -p "crypto.randomBytes(32).toString('hex')"`

function createSecretConversion(isOwn: boolean, advice: string): Conversion<string> {
  return {
    expected: isOwn
      ? `a secret of its own with at least 32 random characters (${makeSecret} prints one); the one of the shipped .env is public${advice}`
      : 'a text of at least 32 random characters',
    convert: text => (text.length >= 32 && !(isOwn && text === shippedSecret) ? text : undefined),
  }
}

const asOldSecret: Conversion<string> = {
  expected: 'a text of at least 32 characters',
  convert: text => (text.length >= 32 ? text : undefined),
}

const asAddressOfSite: Conversion<string> = {
  expected: 'a URL of http or https without a query, such as https://example.org or https://example.org/shop',
  convert(text) {
    if (!/^https?:\/\/[^?#@\\]+$/i.test(text) || !URL.canParse(text)) return undefined
    const { origin, pathname } = new URL(text)
    return `${origin}${pathname.replace(/\/+$/, '')}`
  },
}

const asHostPattern: Conversion<string> = {
  expected: 'a host name such as example.org or *.example.org',
  convert(text) {
    const host = parseHost(text.replace(/^\*\./, ''))
    const isName = host !== undefined && host.port === undefined && !text.endsWith('.') && !text.endsWith(':')
    return isName ? text.toLowerCase() : undefined
  },
}

/** The names of hosts, such as `example.org,*.example.org`. */
export const asHosts: Conversion<readonly string[]> = asListOf(asHostPattern)

const asAddress: Conversion<string> = {
  expected: 'an IP address or a subnet such as 10.0.0.0/8',
  convert(text) {
    try {
      createAddressList([text])
      return text
    } catch {
      return undefined
    }
  },
}

const asProxy: Conversion<string> = {
  expected: 'an IP address, a subnet such as 10.0.0.0/8, or private_ranges',
  convert: text => (privateRangesNames.includes(text) ? text : asAddress.convert(text)),
}

const asTrustableHeader: Conversion<TrustableHeader> = {
  expected: `one of ${trustableHeaders.join(', ')}`,
  convert: text => trustableHeaders.find(header => header === text.toLowerCase()),
}

const asUser: Conversion<string> = {
  expected: 'the name or the id of a user, such as www-data or 33',
  convert: text => (/^[A-Za-z_][\w.-]*\$?$|^\d+$/.test(text) ? text : undefined),
}

const asDebugKey: Conversion<string> = {
  expected: 'a text of at least 16 letters, digits or -._~',
  convert: text => (/^[\w.~-]{16,}$/.test(text) ? text : undefined),
}

/**
 * Finds the ids of users in `/etc/passwd`; a number is an id already.
 *
 * @throws CONFIG_INVALID that names each unknown user
 */
export function findUserIds(users: readonly string[]): readonly number[] {
  const names = users.filter(user => !/^\d+$/.test(user))
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

function readUsers(): ReadonlyMap<string, number> {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return new Map(lines.map(line => line.split(':')).map(([name = '', , id]) => [name, Number(id)]))
}
