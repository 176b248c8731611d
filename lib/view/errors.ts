import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** An unknown template is rendered. Correct the name. */
export const VIEW_TEMPLATE_UNKNOWN: CodedErrorClass<[name: string, folders: string, suggestion: string]> = defineError(
  'VIEW_TEMPLATE_UNKNOWN',
  500,
  'There is no template "%s.hbs" in %s%s.',
)

/** Templates have mistakes; all are listed. Correct the lines in the message. */
export const VIEW_TEMPLATE_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'VIEW_TEMPLATE_INVALID',
  500,
  'Templates cannot be used:\n%s',
)

/**
 * A template uses a field that is missing in its view model, or a helper has failed. Correct the place in the message.
 */
export const VIEW_RENDER_FAILED: CodedErrorClass<[name: string, reason: string]> = defineError(
  'VIEW_RENDER_FAILED',
  500,
  'The template "%s" cannot be rendered: %s',
)

/** A helper or a global needs the request. Pass it to `render()`. */
export const VIEW_REQUEST_MISSING: CodedErrorClass<[part: string]> = defineError(
  'VIEW_REQUEST_MISSING',
  500,
  'The %s needs the request: pass it as the third argument of render().',
)

/**
 * A helper is added with a name of Handlebars, the framework or another bundle; the message has the place of the other.
 * Choose another name.
 */
export const VIEW_HELPER_TAKEN: CodedErrorClass<[name: string, reason: string]> = defineError(
  'VIEW_HELPER_TAKEN',
  500,
  'The helper "%s" cannot be added: %s. Choose another name.',
)

/**
 * A global is added with a name of Handlebars or of another bundle; the message has the place of the other. Choose
 * another name.
 */
export const VIEW_GLOBAL_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'VIEW_GLOBAL_INVALID',
  500,
  'The global "%s" cannot be added: %s. Choose another name.',
)

/** A bundle names a folder of templates that is missing or may not be read. Correct `templates` of the bundle. */
export const VIEW_FOLDER_UNREADABLE: CodedErrorClass<[folder: string, reason: string]> = defineError(
  'VIEW_FOLDER_UNREADABLE',
  500,
  'The folder of templates %s cannot be read (%s).',
)
