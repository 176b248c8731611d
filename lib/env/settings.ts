import {
  array,
  check,
  forward,
  type GenericSchema,
  object,
  optional,
  partialCheck,
  picklist,
  pipe,
  string,
  transform,
} from 'valibot'
import { parseHost } from '../http/host.ts'
import {
  createAddressList,
  privateRangesNames,
  type TrustableHeader,
  trustableHeaders,
} from '../http/trusted-proxies.ts'
import { type LogLevel, logLevels } from '../log/logger.ts'
import { type Environment, environments } from './dotenv.ts'
import { editorNames, isEditorUrl, type PathMapping, parseEditorUrl, parsePathMapping } from './editor.ts'

/** The `APP_SECRET` of the `.env` file in the repository. It is public: only for development. */
export const shippedSecret = 'shipped-for-development-only-never-for-production'

/** The settings by the names of their environment variables. A setting that is not set is empty. */
export interface Settings {
  readonly NODE_ENV: string
  readonly APP_ENV: Environment | ''
  readonly APP_DEBUG: boolean | undefined
  readonly APP_SECRET: string
  readonly APP_HOSTS: readonly string[]
  readonly TRUSTED_PROXIES: readonly string[]
  readonly TRUSTED_HEADERS: readonly TrustableHeader[]
  readonly DEBUG_ALLOWED_IPS: readonly string[]
  readonly DEBUG_ALLOWED_USERS: readonly string[]
  readonly DEBUG_KEY: string
  readonly LOG_LEVEL: LogLevel | ''
  readonly EDITOR_URL: string
  readonly EDITOR_PATHS: readonly PathMapping[]
  readonly PROFILER_MCP: boolean | undefined
  readonly PROFILER_MCP_REPLAY: boolean | undefined
  readonly DATABASE_URL: string
  readonly MAILER_DSN: string
  readonly RECAPTCHA3_KEY: string
  readonly RECAPTCHA3_SECRET: string
  readonly ADMIN_STATUS_TOKEN: string
}

/** Creates the schema of the settings. Its messages follow the name of a setting and contain no secret. */
export function createSettingsSchema(): GenericSchema<unknown, Settings> {
  const setting = optional(string(), '')
  const oneOf = <const option extends string>(options: readonly option[]) =>
    optional(
      picklist(['', ...options], issue => `${quote(issue.input)} is not one of ${options.join(', ')}.`),
      '',
    )
  const listOf = (isEntry: (entry: string) => boolean, expected: string) =>
    pipe(
      setting,
      transform(parseList),
      array(
        pipe(
          string(),
          check(isEntry, issue => `${quote(issue.input)} is not ${expected}.`),
        ),
      ),
    )
  const flag = pipe(
    setting,
    check(isFlag, issue => `${quote(issue.input)} is neither 1, true, yes, on nor 0, false, no, off.`),
    transform(parseFlag),
  )
  const addresses = listOf(isAddress, 'an IP address or a subnet such as 10.0.0.0/8')

  return pipe(
    object({
      NODE_ENV: setting,
      APP_ENV: oneOf(environments),
      APP_DEBUG: flag,
      APP_SECRET: pipe(
        setting,
        check(value => value.length >= 32, 'is not set, or too short; it needs at least 32 random characters.'),
      ),
      APP_HOSTS: pipe(
        listOf(isHostPattern, 'a host name such as example.org or *.example.org'),
        transform(hosts => hosts.map(host => host.toLowerCase())),
      ),
      TRUSTED_PROXIES: listOf(
        entry => privateRangesNames.includes(entry) || isAddress(entry),
        'an IP address, a subnet such as 10.0.0.0/8, or private_ranges',
      ),
      TRUSTED_HEADERS: pipe(
        listOf(entry => findTrustable(entry) !== undefined, `one of ${trustableHeaders.join(', ')}`),
        transform(entries => entries.map(findTrustable).filter(header => header !== undefined)),
      ),
      DEBUG_ALLOWED_IPS: addresses,
      DEBUG_ALLOWED_USERS: listOf(
        entry => /^[A-Za-z_][\w.-]*\$?$|^\d+$/.test(entry),
        'the name or the id of a user, such as www-data or 33',
      ),
      DEBUG_KEY: pipe(
        setting,
        check(
          value => value === '' || /^[\w.~-]{16,}$/.test(value),
          'needs at least 16 letters, digits or -._~, or none.',
        ),
      ),
      LOG_LEVEL: oneOf(logLevels),
      EDITOR_URL: pipe(
        setting,
        check(
          isEditorUrl,
          issue =>
            `${quote(issue.input)} is neither ${editorNames.join(', ')} nor a link such as editor://open?file={file}&line={line}.`,
        ),
        transform(parseEditorUrl),
      ),
      EDITOR_PATHS: pipe(
        listOf(entry => parsePathMapping(entry) !== undefined, 'a pair of folders such as /srv/app=/home/me/app'),
        transform(entries => entries.map(parsePathMapping).filter(mapping => mapping !== undefined)),
      ),
      PROFILER_MCP: flag,
      PROFILER_MCP_REPLAY: flag,
      DATABASE_URL: pipe(
        setting,
        check(isUrl, 'is not a URL; it reads like postgres://user:password@localhost/name, or is empty.'),
      ),
      MAILER_DSN: pipe(
        setting,
        check(isUrl, 'is not a DSN; it reads like smtp://user:password@localhost:25 or null://null, or is empty.'),
      ),
      RECAPTCHA3_KEY: setting,
      RECAPTCHA3_SECRET: setting,
      ADMIN_STATUS_TOKEN: pipe(
        setting,
        check(value => value === '' || value.length >= 16, 'is too short; it needs at least 16 characters, or none.'),
      ),
    }),
    forward(
      partialCheck(
        [['APP_ENV'], ['APP_SECRET']],
        settings => settings.APP_ENV !== 'prod' || settings.APP_SECRET !== shippedSecret,
        'is the public one of the shipped .env; production needs a secret of its own.',
      ),
      ['APP_SECRET'],
    ),
    forward(
      partialCheck(
        [['RECAPTCHA3_KEY'], ['RECAPTCHA3_SECRET']],
        settings => (settings.RECAPTCHA3_KEY === '') === (settings.RECAPTCHA3_SECRET === ''),
        'is set without RECAPTCHA3_SECRET, or the other way round; set both or none.',
      ),
      ['RECAPTCHA3_KEY'],
    ),
  )
}

function quote(value: unknown): string {
  return JSON.stringify(value)
}

function parseList(text: string): string[] {
  return text
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
}

const flags: ReadonlyMap<string, boolean | undefined> = new Map([
  ...['1', 'true', 'yes', 'on'].map(word => [word, true] as const),
  ...['0', 'false', 'no', 'off'].map(word => [word, false] as const),
  ['', undefined],
])

function isFlag(text: string): boolean {
  return flags.has(text.toLowerCase())
}

function parseFlag(text: string): boolean | undefined {
  return flags.get(text.toLowerCase())
}

function isHostPattern(pattern: string): boolean {
  const host = parseHost(pattern.replace(/^\*\./, ''))
  return host !== undefined && host.port === undefined && !pattern.endsWith('.') && !pattern.endsWith(':')
}

function isAddress(entry: string): boolean {
  try {
    createAddressList([entry])
    return true
  } catch {
    return false
  }
}

function findTrustable(entry: string): TrustableHeader | undefined {
  return trustableHeaders.find(header => header === entry.toLowerCase())
}

function isUrl(text: string): boolean {
  return text === '' || (/^[a-z][a-z\d+.-]*:\/\/./i.test(text) && URL.canParse(text))
}
