import { asUrl, type BundleSettings, type Conversion, defineSettings } from 'sinfonietta'

/** The values of the site's settings. */
interface SiteSettings {
  readonly DATABASE_URL: string | undefined
  readonly MAILER_DSN: string | undefined
  readonly RECAPTCHA3_KEY: string | undefined
  readonly RECAPTCHA3_SECRET: string | undefined
  readonly ADMIN_STATUS_TOKEN: string | undefined
}

const asToken: Conversion<string> = {
  expected: 'a text of at least 16 characters',
  convert: text => (text.length >= 16 ? text : undefined),
}

/**
 * The settings of the site. They are declared and checked at the start, and unused: its two pages
 * have no such features.
 */
export const siteSettings: BundleSettings<SiteSettings> = defineSettings(
  {
    DATABASE_URL: {
      help: 'unused: a database, such as postgres://user:password@localhost/name',
      schema: asUrl,
      default: undefined,
      secret: true,
    },
    MAILER_DSN: {
      help: 'unused: a mail server, such as smtp://user:password@localhost:25; null://null sends nothing',
      schema: asUrl,
      default: undefined,
    },
    RECAPTCHA3_KEY: { help: 'unused: a key of reCAPTCHA v3; set both or none', default: undefined },
    RECAPTCHA3_SECRET: { help: 'unused: the secret of this key', default: undefined },
    ADMIN_STATUS_TOKEN: { help: 'unused: a token for administrators', schema: asToken, default: undefined },
  },
  ({ RECAPTCHA3_KEY, RECAPTCHA3_SECRET }) =>
    (RECAPTCHA3_KEY === undefined) === (RECAPTCHA3_SECRET === undefined)
      ? {}
      : { RECAPTCHA3_KEY: 'is set without RECAPTCHA3_SECRET, or the other way round; set both or none.' },
)
