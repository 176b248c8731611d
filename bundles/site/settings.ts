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

/** The settings of the site. They are checked at the start, for features that its two pages do not have yet. */
export const siteSettings: BundleSettings<SiteSettings> = defineSettings(
  {
    DATABASE_URL: {
      help: 'the database, such as postgres://user:password@localhost/name',
      schema: asUrl,
      default: undefined,
      secret: true,
    },
    MAILER_DSN: {
      help: 'the mail server, such as smtp://user:password@localhost:25; null://null sends nothing',
      schema: asUrl,
      default: undefined,
    },
    RECAPTCHA3_KEY: { help: 'a key of reCAPTCHA v3; set both or none', default: undefined },
    RECAPTCHA3_SECRET: { help: 'its secret', default: undefined },
    ADMIN_STATUS_TOKEN: { help: 'opens the status page to administrators', schema: asToken, default: undefined },
  },
  ({ RECAPTCHA3_KEY, RECAPTCHA3_SECRET }) =>
    (RECAPTCHA3_KEY === undefined) === (RECAPTCHA3_SECRET === undefined)
      ? {}
      : { RECAPTCHA3_KEY: 'is set without RECAPTCHA3_SECRET, or the other way round; set both or none.' },
)
