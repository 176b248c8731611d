import type { PanelModel, SubjectView } from '../../panels/subject-view.ts'
import { item, row } from '../../panels/toolbar-items.ts'
import { type FormattedTime, formatTime, type Row, toRows, toValueRow } from '../../profile/format.ts'
import { compareWithPreviousLink, home } from '../../profile/links.ts'
import { readServerAddress } from '../../record/recording-policy.ts'
import type { ServerProcessData } from './data.ts'

/** The settings that the application was started with, its bundles and versions. */
export const configView: SubjectView = {
  name: 'config',
  label: 'Configuration',
  template: 'profiler/panels/config',
  stored: ['config', 'server'],
  hasContent: () => true,
  toView({ profile }) {
    const { config, server } = profile.process
    // The settings are those of the kernel that shows the profile.
    const isElsewhere = readServerAddress(profile) !== undefined
    const { handlebars, node, sinfonietta, ...others } = server?.versions ?? {}
    const settings = config?.settings ?? []
    return {
      version: sinfonietta || 'n/a',
      node: node || 'n/a',
      environment: config?.environment || 'n/a',
      isElsewhere,
      nodeEnv: server?.environment === undefined ? 'n/a' : (server.environment.NODE_ENV ?? 'not set'),
      isDebug: config?.isDebug ?? false,
      logLevel: config?.logLevel || 'n/a',
      // On another server, only the pages of the profiler use it.
      versions: toRows(isElsewhere || handlebars === undefined ? others : { handlebars, ...others }),
      // The folder of the application itself is no news.
      process: toRows(server?.process)
        .filter(({ value }) => value !== '.')
        .map(row => ({ ...row, time: row.name === 'started' && toTime(row.value) })),
      ...viewEnvironment(server),
      bundles: config?.bundles ?? [],
      access: [
        toListRow('Hosts', config?.hosts, 'any'),
        toListRow('Trusted proxies', config?.trustedProxies, 'none'),
        toListRow('Clients allowed to see debug output', config?.debugAllowedIps, 'this machine only'),
      ],
      hasSettings: settings.length > 0,
      chosen: settings.filter(({ from }) => from !== 'default'),
      defaults: settings.filter(({ from }) => from === 'default'),
    }
  },

  toItems({ profile, summary: { link, time, token } }) {
    const { config, server } = profile.process
    const { environment = '', isDebug = false } = (readServerAddress(profile) === undefined && config) || {}
    const { node = '', sinfonietta = '' } = server?.versions ?? {}
    const known = (name: string, value: string) => (value === '' ? [] : [row(name, value)])
    return [
      item(
        { name: 'record', label: 'Profile' },
        {
          order: 170,
          pill: environment,
          text: token,
          link,
          rows: [
            row('Profile', token, { link, time }),
            row('Compare', 'With previous', { link: compareWithPreviousLink(token) }),
            ...known('Sinfonietta', sinfonietta),
            ...known('Node.js', node),
            ...known('Environment', [environment, isDebug ? 'debug' : ''].filter(Boolean).join(', ')),
            row('Profiler', 'All profiles', { link: home }),
          ],
        },
      ),
    ]
  },
}

/** Damaged data stays text. */
function toTime(moment: string): FormattedTime | false {
  const time = Date.parse(moment)
  return !Number.isNaN(time) && formatTime(time)
}

function toListRow(name: string, list: readonly string[] | undefined, empty: string): Row {
  return { name, value: list?.join(', ') || empty }
}

function viewEnvironment(server: ServerProcessData | undefined): PanelModel {
  const rows = toRows(server?.environment).map(toValueRow)
  const dotenvNames = new Set(server?.dotenvNames)
  return {
    dotenv: rows.filter(({ name }) => dotenvNames.has(name)),
    regular: rows.filter(({ name }) => !dotenvNames.has(name)),
  }
}
