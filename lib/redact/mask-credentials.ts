import { findLineEnd } from './find-end.ts'
import { mask } from './secret-names.ts'

/** A token is at the beginning of a word, or behind a percent-encoded character. */
const start = '(?<![\\w-]|%)(?:(?<=%[\\dA-F]{2})|(?<![\\w-]))'

/** The forms of tokens of known providers. */
const shapes: readonly string[] = [
  'gh[opsur]_[A-Za-z\\d]{10,}',
  'github_pat_\\w{10,}',
  'gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[\\w.-]{10,}',
  '(?:sk|rk)_(?:live|test)_\\w{8,}',
  'whsec_[\\w+/=-]{8,}',
  'sk-(?=[\\w-]{0,60}\\d)[\\w-]{16,}',
  'gsk_[A-Za-z\\d]{20,}',
  'xox[a-z]-[\\w.-]{8,}',
  'xapp-[\\w-]{8,}',
  '(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z\\d]{12,}',
  'AIza[\\w-]{20,}',
  'ya29\\.[\\w-]{10,}',
  'GOCSPX-[\\w-]{10,}',
  'npm_[A-Za-z\\d]{20,}',
  'pypi-[\\w-]{16,}',
  'SG\\.[\\w-]{10,}\\.[\\w-]{10,}',
  'key-[\\da-f]{32}',
  'hf_[A-Za-z\\d]{20,}',
  'do[opr]_v1_[\\da-f]{20,}',
  'dckr_pat_[\\w-]{10,}',
  'hv[bs]\\.[\\w-]{16,}',
  'shp(?:at|ca|pa|ss)_[\\dA-Fa-f]{16,}',
  'sq0[a-z]{3}-[\\w-]{10,}',
  'sntry[su]_[\\w=+/-]{10,}',
  'lin_api_\\w{10,}',
  'tskey-[\\w-]{10,}',
  'ATATT3[\\w=-]{20,}',
  'AGE-SECRET-KEY-1[A-Z\\d]{10,}',
  '\\d{8,10}:[\\w-]{35}(?![\\w-])',
  // A JWT: parts of JSON in base64.
  'eyJ[\\w-]{8,}\\.[\\w-]{2,}(?:\\.[\\w-]*){0,3}',
]

const tokens = new RegExp(
  `${start}(?:${shapes.join('|')})|(?<=hooks\\.slack\\.com/(?:services|workflows|triggers)/)[^\\s"'<>\`?#]+` +
    `|(?<=\\bbot)\\d{5,12}(?::|%3A)[\\w-]{8,}|(?<=discord(?:app)?\\.com/api/webhooks/)[^\\s"'<>\`?#]+`,
  'g',
)
const begins =
  /gh[opsur]_|github_pat_|gl[a-z]{2,5}-|[sr]k_(?:live|test)_|whsec_|sk-|gsk_|xox[a-z]-|xapp-|A(?:KIA|SIA|GPA|IDA|ROA|Iza|TATT3|GE-SEC)|ya29\.|GOCSPX|npm_|pypi-|SG\.|key-|hf_|do[opr]_v1|dckr_|hv[bs]\.|shp[acs]|sq0|sntry|lin_api|tskey|bot\d|\d{8}:[\w-]|eyJ|hooks\.slack|webhooks\//

/** Whether a text may contain a credential with a known form, or the values of a row without their names. */
export function mayHaveCredential(text: string): boolean {
  return begins.test(text) || unnamed.test(text)
}

const unnamed =
  /@|%40|-----BEGIN| --?[alpu]|identified by|[?&]code=|row contains \(|\$\d{1,5} = '|(?:bearer|basic|digest|ntlm|negotiate|kerberos|token|apikey)[ +\t]/i

/** Masks credentials with a known form: PEM blocks, JWTs, tokens of known providers, web hooks. */
export function maskTokens(text: string): string {
  const unpemmed = text.includes('-----BEGIN') ? text.replace(pemBlock, mask) : text
  return begins.test(unpemmed) ? unpemmed.replace(tokens, mask) : unpemmed
}

const pemBlock =
  /-----BEGIN [A-Z\d ]{1,60}-----(?:(?!-----BEGIN)[\s\S])*?(?:-----END [A-Z\d ]{1,60}-----|(?=-----BEGIN)|$)/g

const schemes = /\b(bearer|basic|digest|ntlm|negotiate|kerberos|token|apikey)[ \t]{1,8}(?=([^\s"',;<>\\]+))/gi
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
      return /^(?:username|realm|nonce|uri|response|qop|cnonce|opaque|algorithm)=/i.test(value)
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

const options =
  /((?:^|\s)--?(?:[a-z]{1,20}-)?(?:u|user|login) ?=?["']?)([^\s"':=]{1,100}:(?!\d{1,9}(?:\s|$))[^\s"'@/][^\s"']*)|(\b(?:mysql|mariadb|sshpass)[\w-]{0,20}(?= )[^\r\n|;&]{0,200}? -p ?)(?!-)([^\s"'-][^\s"']*)|(\bredis-cli [^\r\n|;&]{0,200}?-a )([^\s"']+)/g

/** Masks secrets in options without a secret name: `curl -u ada:x`, `mysql -px`. */
export function maskOptions(text: string): string {
  return text.replace(options, (_all, ...parts: (string | undefined)[]) => {
    const [user, , database, , redis] = parts
    return `${user ?? database ?? redis}${mask}`
  })
}

/**
 * Masks the userinfo of `//user:password@host`: all of it, because the user may be a token. Also percent-encoded, as in a
 * URL within a query, and without a scheme: `user:password@host`. Takes linear time.
 */
export function maskUserinfo(text: string): string {
  return maskBareUserinfo(
    text
      .replace(/\/\/[^\s"'<>`]+/g, url => url.split('//').map(maskAuthority).join('//'))
      .replace(
        /(?<=\/\/)(?!\d{0,5}[\s"'<>`])([^\s:/@"'<>`?#*[]{0,100}:(?!\d{1,5}(?:[\s"'<>`/?#,;)]|$)))([^@/\r\n]{1,100})@(?=[\w[])/g,
        `${mask}@`,
      )
      .replace(/(?<=%2f%2f)(?:(?!%(?:2[36f]|3f))[^\s"'<>`/?#&])+(?=%40)/gi, mask),
  )
}

function maskAuthority(part: string): string {
  const authority = part.slice(0, part.search(/[/?#]|$/))
  let at = authority.lastIndexOf('@')
  // Text behind the colon that is no port: a password with a slash that is not encoded.
  if (at === -1 && /^[^[:]*:(?!\d*$)/.test(authority)) at = part.lastIndexOf('@')
  return at > 0 ? mask + part.slice(at) : part
}

/** Words before the colon of an address that are no user names. */
const noUser =
  /^(?:mailto|npm|jsr|pkg|git|ssh|file|link|portal|patch|workspace|acct|sips?|xmpp|im|tel|to|cc|bcc|from|e-?mail)$/i

function maskBareUserinfo(text: string): string {
  let masked = ''
  let done = 0
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let start = at
    let colon = -1
    while (start > done && at - start < 200 && /[^\s"'<>`/\\,;(){}[\]=@]/.test(text.charAt(start - 1))) {
      start--
      if (text.charAt(start) === ':') colon = start
    }
    const user = text.slice(start, colon)
    const isAddress = /[A-Za-z\d[]/.test(text.charAt(at + 1)) && /^[\w.+~%-]{1,64}$/.test(user)
    const isPath = /[/\\]/.test(text.charAt(start - 1))
    if (colon === -1 || colon === at - 1 || !isAddress || isPath || noUser.test(user)) continue
    masked += text.slice(done, start) + mask
    done = at
  }
  return masked + text.slice(done)
}
