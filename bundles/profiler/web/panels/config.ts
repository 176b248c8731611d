import { formatText, formatValue, type Row, toRows } from '../../profile/format-value.ts'
import { asList, asObject } from '../../profile/read-soft.ts'
import type { ProfilePanel } from './panel.ts'

/** The panel of what the application was started with. */
export const configPanel: ProfilePanel = {
  name: 'config',
  label: 'Configuration',
  template: 'profiler/panels/config',
  hasContent: () => true,
  toView({ facts }) {
    const config = asObject(facts.config)
    const { process, versions } = asObject(facts.server)
    const { node, sinfonietta, ...others } = asObject(versions)
    return {
      version: formatText(sinfonietta) || 'n/a',
      node: formatText(node) || 'n/a',
      environment: formatText(config.environment) || 'n/a',
      isDebug: config.isDebug === true,
      logLevel: formatText(config.logLevel) || 'n/a',
      versions: toRows(others),
      process: toRows(process),
      bundles: asList(config.bundles).map(formatText),
      access: [
        toListRow('Hosts', config.hosts, 'any'),
        toListRow('Trusted proxies', config.trustedProxies, 'none'),
        toListRow('Clients allowed to see debug output', config.debugAllowedIps, 'this machine only'),
      ],
      secrets: toRows(config.secrets).map(({ name, value }) => ({ name, value, isSet: value !== '' })),
    }
  },
}

function toListRow(name: string, list: unknown, empty: string): Row {
  return { name, value: asList(list).map(formatValue).join(', ') || empty }
}
