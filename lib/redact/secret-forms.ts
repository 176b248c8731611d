import { escapeRegExp } from '../text/escapes.ts'
import { WordFinder } from '../text/word-finder.ts'
import { schemeNames } from './mask-credentials.ts'
import { mask, type NameTest, wordsOfNames } from './secret-names.ts'

/** The forms of tokens of known providers: their beginnings, and the rest. */
const shapes: readonly (readonly [begins: string, rest: string])[] = [
  ['gho_¦ghp_¦ghs_¦ghu_¦ghr_¦github_pat_¦lin_api_¦dckr_pat_¦sbp_¦sb_secret_', '\\w{10,}'],
  ['rk_live_¦rk_test_¦sk_live_¦sk_test_¦whsec_¦sntrys_¦sntryu_', '[\\w+/=-]{8,}'],
  ['gsk_¦hf_¦npm_¦r8_¦pplx-', '[A-Za-z\\d]{16,}'],
  ['vercel_¦vcp_¦vci_¦vca_¦vcr_¦vck_¦EAA¦sk-', '(?=[\\w-]{0,60}\\d)[\\w-]{16,}'],
  ['glpat-¦gldt-¦glrt-¦glcbt-¦glptt-¦glft-¦glimt-¦glagent-¦gloas-¦glsoat-¦glffct-', '[\\w.-]{8,}'],
  ['xoxa-¦xoxb-¦xoxc-¦xoxd-¦xoxe-¦xoxo-¦xoxp-¦xoxr-¦xoxs-¦xapp-¦tskey-¦GOCSPX-', '[\\w.-]{8,}'],
  ['pypi-¦sq0atp-¦sq0csp-¦sq0idp-¦pat-na1-¦pat-na2-¦pat-eu1-¦pat-ap1-¦AIza¦ya29.¦hvb.¦hvs.¦ATATT3', '[\\w=-]{10,}'],
  ['AKIA¦ASIA¦AGPA¦AIDA¦AROA¦AGE-SECRET-KEY-1', '[A-Z\\d]{10,}'],
  ['doo_v1_¦dop_v1_¦dor_v1_¦shpat_¦shpca_¦shppa_¦shpss_', '[\\dA-Fa-f]{16,}'],
  ['key-', '[\\da-f]{32}(?!\\w)'],
  ['SG.', '[\\w-]{10,}\\.[\\w-]{10,}'],
  ['$2a$1¦$2b$1¦$2x$1¦$2y$1', '\\d\\$[./A-Za-z\\d]{53}'],
  ['$argon2', '\\w{1,2}\\$\\S{20,}'],
  // A JWT: parts of JSON in base64.
  ['eyJ', '[\\w-]{8,}\\.[\\w-]{2,}(?:\\.[\\w-]*){0,3}'],
  ['base64url.bearer.authorization.k8s.io.', '[\\w-]{4,}'],
]

/** The beginning of a word, or behind a percent-encoded character. */
const start = '(?:(?<=%(?:25){0,3}[\\dA-Fa-f]{2})|(?<![\\w%-]))'
const webHooks =
  /(?<=hooks\.slack\.com\/(?:services|workflows|triggers)\/)[^\s"'<>`?#]+|(?<=\bbot)\d{5,12}(?::|%3A)[\w-]{8,}|(?<=discord(?:app)?\.com\/api\/webhooks\/)[^\s"'<>`?#]+/
const tokenForms = shapes.map(([begins, rest]) => `(?:${begins.split('¦').map(escapeRegExp).join('|')})${rest}`)
const tokens = new RegExp(
  `${start}(?:${tokenForms.join('|')}|SK[\\da-f]{32}(?!\\w)|\\d{8,10}:[\\w-]{35}(?![\\w-]))|${webHooks.source}`,
  'g',
)
const pemBlock =
  /-----BEGIN [A-Z\d ]{1,60}-----(?:(?!-----BEGIN)[\s\S])*?(?:-----END [A-Z\d ]{1,60}-----|(?=-----BEGIN)|$)/g

/** Forms by the words of which each text with one of them contains one. */
type Forms = Readonly<Record<string, readonly RegExp[]>>

/**
 * The forms in which texts contain secrets. The part `before` stays, and the mask
 * replaces the rest of the match. With a part `name` one of its words must be the name of a secret. Repetitions have limits, so
 * that the time grows only as the text does. MySQL cuts values in its messages at 128 or 192 characters.
 */
const namedForms: Forms = {
  // `Incorrect API key provided: aB3…`, `OTP for ada: 482913`, `password "x"`, `--password x`, `the password is hunter2`, `the API key aB3…`
  ' is¦ was¦ for ¦ from ¦entered¦given¦invalid¦malformed¦provided¦received¦rejected¦sent¦submitted¦supplied¦typed¦used':
    [
      /(?<before>\b(?:pass(?:word|wd|phrase|code)|(?:api|license|access)[ _-]?key|secret|token|jwt|otp|pin|credentials?)(?: (?:is|was|(?:for|from) [\w@.-]{1,64}|entered|given|invalid|malformed|provided|received|rejected|sent|submitted|supplied|typed|used)){1,2}: ["']?)(?=[^\s"'`\\]{0,300}\d)(?!\d{1,3}(?![^\s.])|\d{4}-\d\d|[a-z]{1,30}-\d{1,4}(?!\S))[^\s"'`\\]{4,}/gi,
      /(?<before>\b(?:pass(?:word|wd|phrase|code)|(?:api|license)[ _-]?key|secret|token|pin|(?:one-time|recovery|verification) code) (?:is|was) (?:(?:changed|reset|set) to )?)(?=[^\s"'`\\]{0,300}\d)(?![\d.,]+(?:\s|$))(?!(?:sha|md|base|utf|v|aes|hs|rs|es)-?\d)[^\s"']{4,}/gi,
    ],
  'password ¦passwd ¦passphrase ¦passcode ¦api key ¦apikey ¦api_key ¦api-key ¦secret ¦token ¦key ¦--': [
    /(?<before>(?:^|\s)--[\w-]{0,40}(?:passw|passphrase|secret|token|key|pwd|auth)[\w-]{0,40}[ \t](?![-\s<[{|]))[^\s"']+/gi,
    /(?<before>\b(?:[Pp]assword|[Pp]assphrase|[Aa][Pp][Ii][ _-]?[Kk]ey|[Ss]ecret|(?<!nexpected )[Tt]oken|[Kk]ey) )(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[^\s"'.,:;()<>[\]{}]{8,}/g,
  ],
  // `secret -> aB3…`, `password (aB3…)`, `password|aB3…`
  '->¦→¦<-¦|¦\t¦ (': [
    /(?<before>(?<![\w.-])(?<name>[\w.-]{1,100})(?: ?(?:->|→|<-|\|) ?|\t| \())(?=[^\s"'`|()\\]{0,300}\d)(?=[^\s"'`|()\\]{0,300}[A-Za-z])(?!\S{0,300}[/:]|(?:sha|md|base|utf|v|aes|hs|rs|es|ps)-?\d|[a-z]{1,30}-?\d{1,4}(?![\w-]))[^\s"'`|()\\]{6,}/gi,
  ],
  // `['x-api-key', 'x']`, `{ [Symbol(password)]: 'x' }`, and JSON in HTML or in a URL
  '",¦\',¦`,¦" ,¦\' ,': [
    /(?<=\k<around>(?<name>[\w.-]{1,100})(?<around>["'`])\s{0,3},\s{0,3})(?<before>["'`])(?![A-Za-z_]+\k<before>|[/:][\w/:{}.-]*\k<before>)(?:\\.|(?!\k<before>)[^\\\r\n])+(?=\k<before>)/g,
  ],
  'Symbol(¦&quot;¦&apos;¦&#34;¦&#x22;¦%22': [
    /(?<before>\[Symbol\((?<name>[^()\r\n]{1,100})\)\]: ?(["'`]))(?:\\.|(?!\3)[^\\])+(?=\3)/g,
    /(?<before>&(?:quot|apos|#34|#39|#x22);(?<name>[\w-]{1,100})&(?:quot|apos|#34|#39|#x22);\s?[:=]\s?&(?:quot|apos|#34|#39|#x22);)(?:(?!&(?:quot|apos|#34|#39|#x22);)[^\r\n])+/g,
    /(?<before>%22(?<name>[\w-]{1,100})%22(?:%20|\+)?%3A(?:%20|\+)?%22)(?:(?!%22)[^\s"'<>`])+/gi,
  ],
  // `serialize` of PHP
  's:1:': [/(?<before>\bs:\d{1,9}:\\?"(?<name>[^"\\]{1,100})\\?";s:\d{1,9}:\\?")[^"\\]+/g],
  // Statements, and messages of databases.
  "in(¦in (¦in  (¦like '¦password for ¦crypt(¦key (¦duplicate entry '": [
    /(?<before>\bin\s{0,3}\()(?<=(?<name>[\w."`]{1,100})\s{1,3}(?:not\s{1,3})?in\s{0,3}\()(?=["'])[^()]{1,2000}/gi,
    /(?<before>\bi?like ')(?<=(?<name>[\w."`]{1,100})\s{1,3}(?:not\s{1,3})?i?like ')(?:[^']|'')+/gi,
    /(?<before>\bset password for [^=\r\n]{1,200}=\s{0,3}(?:\w{1,30}\()?')(?:[^']|'')+/gi,
    /(?<before>\b(?:crypt|pgp_sym_(?:en|de)crypt)\()(?=')[^()]{1,2000}/gi,
    /(?<before>\bkey \((?<name>(?:(?!\)=\()[^\r\n]){1,500})\)=\()(?!\))(?:(?!\)(?: (?:already exists|is not present|is still referenced|is duplicated|conflicts with)|\.?$))[\s\S]){1,4000}/gi,
    /(?<before>\bduplicate entry ')[\s\S]{1,200}?(?=' for key '(?<name>[^'\r\n]{1,200})')/gi,
  ],
  // Messages of validators.
  'received ¦got "¦got \'¦value "¦value \'': [
    /(?<before>\bThe (?:(?:property|argument) '|")(?<name>[\w.-]{1,100})['"] [^\r\n]{1,200}?\bReceived )(?!undefined|null|an instance)[^\r\n]+/g,
    /(?<before>\b(?:got|received) ["'])(?<=(?<name>[\w.-]{1,100}): [^"':\r\n]{1,200}["'])[^"'\r\n]+/g,
    /(?<before>"(?<name>[\w.[\]-]{1,100})" with value ")[^\r\n]{1,500}?(?=" (?:fails|matches|contains|must|is)\b)/g,
    /(?<before>\bCast to \w{1,40} failed for value ["'])[^\r\n]{1,500}?(?=["'] \(type [^()\r\n]{1,60}\) at path "(?<name>[^"\r\n]{1,100})")/g,
    /(?<before>\bvalue ["'])[^"'\r\n]{1,500}(?=["'] for ["']?(?<name>[\w.-]{1,100}))/gi,
  ],
  // Commands of Redis.
  'set ¦ex ¦setnx ': [
    /(?<before>\bH(?:M?SET|SETNX) \S{1,200} )(?=(?<name>[^\r\n]{1,500}))[^\r\n]+/g,
    /(?<before>\b(?:(?:P?SET)?EX|SETNX|GETSET|SETEX|PSETEX) (?<name>\S{1,200}) )[^\r\n]+/g,
  ],
}

/** The forms of texts that need not contain the name of a secret. */
const otherForms: Forms = {
  // `password "x"`, `IDENTIFIED BY 'x'`
  'password ¦passwd ¦passphrase ¦passcode ¦identified by ': [
    /(?<before>\b(?:pass(?:word|wd|phrase|code)|identified by)\s{1,9}(?:is |was |to )?(["']))(?:(?!\2)[^\\\r\n]|\\.)+(?=\2)/gi,
  ],
  // The code of OAuth beside its state (RFC 6749, section 4.1).
  '?code=¦&code=': [
    /(?<before>[?&]code=)(?:(?=\S{0,500}&(?:state|session_state|iss|grant_type)=)|(?<=[?&](?:state|session_state|iss|grant_type)=\S{0,500}))[^&#\s"'<>`]+/g,
  ],
  // Messages of databases.
  "row contains (¦1 = '¦invalid input ¦value: '": [
    /(?<before>\brow contains \()(?:[\s\S]{1,4000}(?=\)\.(?:["\r\n]|$))|[\s\S]{1,4000})/gi,
    /(?<before>\$\d{1,5} = ')(?:[^']|''){1,4000}(?=')/g,
    /(?<before>\binvalid input (?:syntax|value) for [^:"\r\n]{1,80}: ")(?:(?!"(?:[\s.,;)\\]|$))[^\r\n])+/g,
    /(?<before>\b(?:incorrect|truncated) \w{1,20}(?: \w{1,20})? value: ')[^\r\n]{1,200}?(?='(?: for column |$))/gi,
  ],
  // A JSON Web Key (RFC 7518, section 6).
  '"kty': [/(?<before>"(?:[dpqk]|dp|dq|qi)"\s?:\s?")(?:(?<="kty"[^{}]{0,1500})|(?=[^{}]{0,1500}"kty"))[^"]+/g],
  // Commands of Redis, and keys with a secret.
  'auth ¦with args ¦config set ¦setuser ': [
    /(?<before>(?:^|[\s"'`])AUTH (?:[^\s"'`]{1,64} )?)(?=[^\s"'`]*\d)[^\s"'`<>\\]{4,}(?=\s*(?:["'`\\]|$))/gm,
    /(?<before>\bwith args beginning with: )[\s\S]+/,
    /(?<before>\bCONFIG SET (?:requirepass|masterauth|tls-key-file-pass) )\S+/gi,
    /(?<before>\bACL SETUSER )(?=[^\r\n]{0,300}[ ][>#<!]\S)[^\r\n]+/gi,
  ],
  'magiclink:¦magic-link:¦magic_link:¦rememberme:¦remember-me:¦remember_me:¦invite:¦invitation:¦login:¦reset:¦verify:¦sess:':
    [
      /(?<before>\b(?:magic[-_]?link|remember[-_]?me|invit(?:e|ation)|login|reset|verify|sess):)(?=[\w-]*\d)[\w-]{6,}/gi,
    ],
  // Commands with secrets in options, and files of credentials.
  ' -u¦ -l¦ --¦\t-¦+-': [
    /(?<before>(?:^|\s)--?(?:[a-z]{1,20}-)?(?:u|user|login) ?=?["']?)[^\s"':=]{1,100}:(?!\d{1,9}(?:\s|$))[^\s"'@/][^\s"']*/g,
  ],
  ' -p¦ -a ¦ -k ¦ -pass': [
    /(?<before>\b(?:mysql|mariadb|sshpass)[\w-]{0,20}(?= )[^\r\n|;&]{0,200}? -p ?)(?!-)[^\s"'-][^\s"']*/g,
    /(?<before>\b(?:docker|podman|helm|oras)(?= )[^\r\n|;&]{0,40}? login\b[^\r\n|;&]{0,200}? -p[ =]?)[^\s"'-][^\s"']*/g,
    /(?<before>\bredis-cli [^\r\n|;&]{0,200}?-a )[^\s"']+/g,
    /(?<before>\bopenssl [^\r\n|;&]{0,200}? -(?:k|pass(?:in|out)?) )[^\s"']+/g,
  ],
  'machine ¦:1234:¦:12345:¦:*:': [
    /(?<before>\bmachine \S{1,200} login \S{1,200} password )\S+/g,
    /(?<before>(?<![^\s"'])[^\s:#/"']{1,200}:(?:\d{4,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:)[^\s"']+/g,
  ],
  '@': [
    /(?<before>\b(?!https?:|wss?:)[a-z][a-z\d+.-]{1,30}:\/\/)[^\s"'<>`/@?#]{0,100}:[^\s"'<>`]{1,300}(?=@[\w[])/gi,
    /(?<before>\bjdbc:oracle:\w{1,10}:)[^\s/@]{1,100}\/[^\s@]{1,200}(?=@)/gi,
  ],
}

const allForms = [...Object.values(namedForms), ...Object.values(otherForms)]
const wordLists = [
  wordsOfNames,
  [...shapes.map(([begins]) => begins), 'sk1¦ska¦skb¦skc¦skd¦ske¦skf¦12345678:¦bot12345¦hooks.slack¦webhooks/'].join(
    '¦',
  ),
  '-----begin',
  // The steps of `maskText` for these have no other test.
  ['@¦\\u00', ...schemeNames.flatMap(name => [`${name} `, `${name}+`, `${name}\t`])].join('¦'),
  ...Object.keys(namedForms),
  ...Object.keys(otherForms),
]
const [tokenBit, pemBit, firstBit] = [2, 4, 16]
/** The bit of the words that a finder has in addition. */
export const moreBit = 1 << wordLists.length

/** Creates a finder for {@link findWords}, with more words between `¦`. The last one is kept: programs have one, or tests many of the same. */
export function createFinder(more: string): WordFinder {
  if (last?.more !== more) last = { more, finder: new WordFinder([...wordLists, more]) }
  return last.finder
}

let last: { readonly more: string; readonly finder: WordFinder } | undefined
const finder = createFinder('')

/**
 * Finds what a text may contain: 0 if it contains no secret, an odd number if it may contain a secret name. The ends of parts of secret names
 * are added to `places`. Most texts have no secret, and this is ten times faster than masking.
 */
export function findWords(text: string, places?: number[], words = finder): number {
  const found = words.find(text, places)
  // The words of forms with a name are frequent in other texts.
  return (found & 1) === 0 ? found & ~namedBits : found
}

const namedBits = (firstBit << Object.keys(namedForms).length) - firstBit

/** Masks credentials with a known form: PEM blocks, JWTs, tokens of known providers, web hooks. */
export function maskTokens(text: string, found = findWords(text)): string {
  const unpemmed = (found & pemBit) === 0 ? text : text.replace(pemBlock, mask)
  return (found & tokenBit) === 0 ? unpemmed : unpemmed.replace(tokens, mask)
}

/** Masks the secrets that the forms of a text show. */
export function maskForms(text: string, isSecret: NameTest, found = findWords(text)): string {
  let masked = text
  for (const [index, forms] of allForms.entries()) {
    if ((found & (firstBit << index)) !== 0) for (const form of forms) masked = masked.replace(form, replace)
  }
  return masked

  function replace(...found: unknown[]): string {
    // The last argument has the groups of the match.
    const { before, name } = found.at(-1) as { readonly before: string; readonly name?: string }
    return name === undefined || name.match(/[\w.-]+/g)?.some(isSecret) ? `${before}${mask}` : String(found[0])
  }
}
