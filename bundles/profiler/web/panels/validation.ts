import { formatDuration, formatNumber, shorten } from '../../profile/format.ts'
import type { Profile } from '../../profile/profile.ts'
import { TreeViewer } from '../../profile/tree-view.ts'
import {
  countIssues,
  describeSchema,
  describeValidation,
  inputNames,
  receivedAt,
  type ValidationData,
} from '../../profile/validation-data.ts'
import type { PanelModel, ProfilePanel } from './panel.ts'

/** Characters of a received value in a table. */
const valueLimit = 100

/** The panel of the inputs that schemas have validated, in their order. */
export const validationPanel: ProfilePanel = {
  name: 'validation',
  label: 'Validation',
  template: 'profiler/panels/validation',
  hasContent: profile => validationsOf(profile).length > 0,
  badge(profile) {
    const count = validationsOf(profile).reduce((sum, validation) => sum + countIssues(validation), 0)
    return { text: count === 0 ? '' : formatNumber(count), level: 'warning' }
  },
  toView({ profile }) {
    const { omitted = 0 } = profile.collectors.validation ?? {}
    const viewer = new TreeViewer()
    return {
      omitted: omitted === 0 ? '' : formatNumber(omitted),
      validations: validationsOf(profile).map((validation, index) => toSection(validation, index, viewer)),
    }
  },
}

function validationsOf({ collectors }: Profile): readonly ValidationData[] {
  return collectors.validation?.validations ?? []
}

function toSection(validation: ValidationData, index: number, viewer: TreeViewer): PanelModel {
  const { end, error = '', input, issues, omittedIssues, source, start } = validation
  return {
    index,
    name: inputNames[source],
    result: describeValidation(validation),
    level: error !== '' ? 'error' : issues.length > 0 ? 'warning' : 'plain',
    schema: describeSchema(validation),
    start: `+${formatDuration(start)}`,
    duration: end === undefined ? '' : formatDuration(end - start),
    error,
    issues: issues.map(({ message, path }) => ({
      field: path.join('.'),
      message,
      received: shorten(receivedAt(validation, path), valueLimit),
    })),
    omitted: omittedIssues === 0 ? '' : formatNumber(omittedIssues),
    input: viewer.view(input, true),
    isRefused: issues.length > 0,
  }
}
