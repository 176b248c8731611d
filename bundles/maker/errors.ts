import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/** A generator needs a parser, which new applications have among their development packages. Run the `npm install` of the message. */
export const MAKER_PACKAGES_MISSING: CodedErrorClass<[packages: string]> = defineError(
  'MAKER_PACKAGES_MISSING',
  501,
  'Generators need a parser: npm install --save-dev %s',
)
