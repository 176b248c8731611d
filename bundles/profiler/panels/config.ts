import { formatValue, type Row, toRows } from './format-value.ts'
import type { ProfilePanel } from './panel.ts'
import { asList, asRecord, asText } from './soft-data.ts'

/** The panel of what the application was started with. */
export const configPanel: ProfilePanel = {
  name: 'config',
  label: 'Configuration',
  template: 'profiler/panels/config',
  hasContent: () => true,
  toView({ facts }) {
    const config = asRecord(facts.config)
    const versions = asRecord(asRecord(facts.server).versions)
    return {
      version: asText(versions.sinfonietta) || 'n/a',
      node: asText(versions.node) || 'n/a',
      environment: asText(config.environment) || 'n/a',
      isDebug: config.isDebug === true,
      logLevel: asText(config.logLevel) || 'n/a',
      bundles: asList(config.bundles).map(asText),
      access: [
        toListRow('Hosts', config.hosts, 'any'),
        toListRow('Trusted proxies', config.trustedProxies, 'none'),
        toListRow('Addresses that may see debug output', config.debugAllowedIps, 'this machine only'),
      ],
      secrets: toRows(config.secrets).map(({ name, value }) => ({ name, value, isSet: value !== '' })),
    }
  },
}

function toListRow(name: string, list: unknown, empty: string): Row {
  return { name, value: asList(list).map(formatValue).join(', ') || empty }
}
