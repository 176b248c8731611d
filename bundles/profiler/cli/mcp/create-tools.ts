import type { Tool } from './tool.ts'
import type { ToolServices } from './tool-services.ts'
import { createCompareRecords } from './tools/compare-records.ts'
import { createFindFindings } from './tools/find-findings.ts'
import { createFindRecords } from './tools/find-records.ts'
import { createLastException } from './tools/last-exception.ts'
import { createReadPanel } from './tools/read-panel.ts'
import { createReadRecord } from './tools/read-record.ts'
import { createReplayRequest } from './tools/replay-request.ts'
import { createRouteStatistics } from './tools/route-statistics.ts'

/** Creates the tools that agents are offered, in the order in which they are listed. */
export function createTools(services: ToolServices): Tool[] {
  return [
    createLastException(services),
    createFindRecords(services),
    createReadRecord(services),
    createReadPanel(services),
    createCompareRecords(services),
    createRouteStatistics(services),
    createFindFindings(services),
    ...(services.replayer === undefined ? [] : [createReplayRequest(services, services.replayer)]),
  ]
}
