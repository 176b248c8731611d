import { findLineEnd } from './find-end.ts'
import { mask } from './secret-names.ts'

/** The beginning of a word, or behind a percent-encoded character. */
const start = '(?:(?<=%(?:25){0,3}[\\dA-Fa-f]{2})|(?<![\\w%-]))'

/** The forms of tokens of known providers: their beginnings, and the rest. */
const shapes: readonly (readonly [begins: readonly string[], rest: string])[] = [
  [['gh[opsur]_', 'github_pat_', 'lin_api_', 'dckr_pat_', 'sb(?:p|_secret)_'], '\\w{10,}'],
  [['[rs]k_(?:live|test)_', 'whsec_', 'sntry[su]_'], '[\\w+/=-]{8,}'],
  [['(?:gsk|hf|npm|r8)_', 'pplx-'], '[A-Za-z\\d]{16,}'],
  [['(?:vercel|vc[a-z])_', 'EAA', 'sk-'], '(?=[\\w-]{0,60}\\d)[\\w-]{16,}'],
  [['gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-', 'xox[a-z]-', '(?:xapp|tskey|GOCSPX)-'], '[\\w.-]{8,}'],
  [['pypi-', 'sq0[a-z]{3}-', 'pat-(?:na|eu|ap)\\d-', 'AIza', 'ya29\\.', 'hv[bs]\\.', 'ATATT3'], '[\\w=-]{10,}'],
  [['A(?:KIA|SIA|GPA|IDA|ROA)', 'AGE-SECRET-KEY-1'], '[A-Z\\d]{10,}'],
  [['do[opr]_v1_', 'shp(?:at|ca|pa|ss)_'], '[\\dA-Fa-f]{16,}'],
  [['key-', 'SK'], '[\\da-f]{32}(?!\\w)'],
  [['SG\\.'], '[\\w-]{10,}\\.[\\w-]{10,}'],
  [['\\$2[abxy]\\$'], '\\d\\d\\$[./A-Za-z\\d]{53}'],
  [['\\$argon2'], '\\w{1,2}\\$\\S{20,}'],
  [['\\d{8,10}:'], '[\\w-]{35}(?![\\w-])'],
  // A JWT: parts of JSON in base64.
  [['eyJ'], '[\\w-]{8,}\\.[\\w-]{2,}(?:\\.[\\w-]*){0,3}'],
]

const webHooks =
  /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[^\s"'<>`?#]+|(?<=\bbot)\d{5,12}(?::|%3A)[\w-]{8,}|(?<=discord(?:app)?\.com\/api\/webhooks\/)[^\s"'<>`?#]+/
const forms = shapes.map(([begins, rest]) => `(?:${begins.join('|')})${rest}`)
const tokens = new RegExp(`${start}(?:${forms.join('|')})|${webHooks.source}`, 'g')
/** Looks for the ends of the beginnings, because most end with the same few characters. */
const begins = new RegExp(
  `_(?<=(?:${endingWith('_')}))|-(?<=(?:${endingWith('-')}))|${endingWith('')}|bot\\d|hooks\\.slack|webhooks/`,
)

function endingWith(mark: string): string {
  const begins = shapes.flatMap(([begins]) => begins)
  return begins.filter(begin => (mark === '' ? /[^_-]$/.test(begin) : begin.endsWith(mark))).join('|')
}

/** Whether a text may contain a credential with a known form, or a secret without a name. */
export function mayHaveCredential(text: string): boolean {
  return begins.test(text) || unnamed.test(text)
}

/** Looks for the blanks and colons behind words, because these are seldom. */
const unnamed =
  /@|\\u00|%40|-----BEGIN|[?&]code=|[ +\t](?:--?[aklpu]|(?<=(?:identified by|with args|invalid input|value:|setuser|bearer|basic|digest|ntlm|negotiate|kerberos|token|apikey|row contains|\$\d{1,5} =)[ +\t]))|:(?:(?<=(?:link|me|ite|ation|login|reset|verify|sess):)[\w-]{6}|(?<=:(?:\d{4,5}|\*):))/i

/** Masks credentials with a known form: PEM blocks, JWTs, tokens of known providers, web hooks. */
export function maskTokens(text: string): string {
  const unpemmed = text.includes('-----BEGIN') ? text.replace(pemBlock, mask) : text
  return begins.test(unpemmed) ? unpemmed.replace(tokens, mask) : unpemmed
}

const pemBlock =
  /-----BEGIN [A-Z\d ]{1,60}-----(?:(?!-----BEGIN)[\s\S])*?(?:-----END [A-Z\d ]{1,60}-----|(?=-----BEGIN)|$)/g

const schemes = /(?<![\w/-])(bearer|basic|digest|ntlm|negotiate|kerberos|token|apikey)[ \t]{1,8}(?=([^\s"',;<>\\]+))/gi
const proseBehindScheme =
  /^(?:tokens?|auth\w*|schemes?|bearer|of|is|was|in|for|the|and|or|not|realm|error|expired|invalid|missing|required|must)(?:[.:=!?]|$)/i

/** Masks the credentials behind the name of a scheme: `Bearer …`, `Digest username="…", …`, and `Basic …` with base64. */
export function maskSchemes(text: string): string {
  let masked = ''
  let done = 0
  for (const match of text.matchAll(schemes)) {
    const [prefix, scheme = '', value = ''] = match
    const from = match.index + prefix.length
    if (match.index < done || !isCredential(scheme.toLowerCase(), value, text, match.index)) continue
    const isList = /^\w{1,40}=/.test(value) && /^digest$/i.test(scheme)
    masked += text.slice(done, from) + mask
    done = isList ? findLineEnd(text, from) : from + value.length
  }
  return masked + text.slice(done)
}

function isCredential(scheme: string, value: string, text: string, at: number): boolean {
  if (value.startsWith(mask)) return false
  switch (scheme) {
    case 'bearer':
      return !proseBehindScheme.test(value)
    case 'basic':
      return Buffer.from(value.slice(0, 400), 'base64').includes(':')
    case 'digest':
      // The challenge of a server has neither a user nor a response.
      return /^\w{1,20}=/.test(value) && /[\s,](?:response|username)=/i.test(text.slice(at, at + 500))
    case 'token':
    case 'apikey':
      // "Unexpected token x" is the message of a parser.
      return (
        /^(?=.*\d)[\w.+/=~-]{6,}$/.test(value.slice(0, 400)) && !/[\w,'"] $/.test(text.slice(Math.max(0, at - 2), at))
      )
    default:
      return /^[A-Za-z\d+/=_-]{6,}$/.test(value.slice(0, 400)) && !/^[A-Z]?[a-z]+$/.test(value)
  }
}

/**
 * Masks the userinfo of `//user:password@host`: all of it, because the user may be a token. Also percent-encoded, as in a
 * URL within a query, and without a scheme: `user:password@host`. Takes linear time.
 */
export function maskUserinfo(text: string): string {
  if (!/@|%40/.test(text)) return text
  return text
    .replace(/\/\/[^\s"'<>`]+/g, url => url.split('//').map(maskAuthority).join('//'))
    .replace(
      /(?<=\/\/)(?!\d{0,5}[\s"'<>`])([^\s:/@"'<>`?#*[]{0,100}:(?!\d{1,5}(?:[\s"'<>`/?#,;)]|$)))([^@/\r\n]{1,100})@(?=[\w[])/g,
      `${mask}@`,
    )
    .replace(/(?<=%2f%2f)(?:(?!%(?:2[36f]|3f))[^\s"'<>`/?#&])+(?=%40)/gi, mask)
    .replace(bareUserinfo, mask)
}

function maskAuthority(part: string): string {
  const authority = part.slice(0, part.search(/[/?#]|$/))
  let at = authority.lastIndexOf('@')
  // Text behind the colon that is no port: a password with a slash that is not encoded.
  if (at === -1 && /^[^[:]*:(?!\d*$)/.test(authority)) at = part.lastIndexOf('@')
  return at > 0 && part.slice(0, at) !== 'git' ? mask + part.slice(at) : part
}

/** `user:password@host`. Words before the colon of other addresses are no user names. */
const bareUserinfo =
  /(?<![^\s"'<>`,;(){}[\]=@])(?!(?:mailto|npm|jsr|pkg|git|ssh|file|link|portal|patch|workspace|acct|sips?|xmpp|im|tel|to|cc|bcc|from|e-?mail):)[\w.+~%-]{1,64}:[^\s"'<>`/\\,;(){}[\]=@]{1,135}(?=@[A-Za-z\d[])/gi
