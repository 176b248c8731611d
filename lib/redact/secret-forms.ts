import { escapeRegExp } from '../text/escapes.ts'
import { WordFinder } from '../text/word-finder.ts'
import { mask, type NameTest, wordsOfNames } from './secret-names.ts'

/**
 * Forms of secrets, by the words between `¦` of which each text with one of them contains one. A digit is any
 * digit. A pattern has its examples as name, between `¦`, in which the secret is between two `§`. The part `before`
 * stays, and the mask replaces the rest of the match. One of the words of a part `name` must be a secret name; a
 * part `base64` must contain a colon; a part `card` must have the check digit of a payment card (ISO/IEC 7812-1).
 * Repetitions have limits, so that the time grows only as the text does.
 */
type Forms = Readonly<Record<string, Readonly<Record<string, RegExp>>>>

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
const tokenForms = shapes.map(([begins, rest]) => `(?:${begins.split('¦').map(escapeRegExp).join('|')})${rest}`)

/** A pattern in several lines, in which case does not matter. */
function form({ raw }: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  return new RegExp(String.raw({ raw }, ...parts).replace(/\s*\n\s*/g, ''), 'gi')
}

/** A digit is in the word that follows. */
const digit = String.raw`(?=[^\s"'\x60|()\\]{0,300}\d)`
const algorithm = String.raw`(?:sha|md|base|utf|v|aes|hs|rs|es|ps)-?\d`
const nameOfSecret = 'pass(?:word|wd|phrase|code)|(?:api|license|access)[ _-]?key|secret|token|jwt|otp|pin|credentials?'
const entity = '&(?:quot|apos|#34|#39|#x22);'
const listed = String.raw`[\w."\x60]{1,100})\s{1,3}(?:not\s{1,3})?`
const state = '(?:state|session_state|iss|grant_type)='
const userinfo = '@¦%40¦\\u00'
const options = String.raw`[^\r\n|;&]{0,200}`
const word = String.raw`[^\s"',;<>\\]`

/** What is masked before all others: it may contain separators and quotes. */
const firstForms: Forms = {
  [[...shapes.map(([begins]) => begins), 'sk1¦ska¦skb¦skc¦skd¦ske¦skf¦12345678:¦12345678%'].join('¦')]: {
    '§ghp_aB3dE5fG7hJ9kL1m§': new RegExp(
      `(?<before>(?<=%(?:25){0,3}[\\dA-Fa-f]{2})|(?<![\\w%-]))(?:${tokenForms.join('|')}|SK[\\da-f]{32}(?!\\w)|\\d{8,10}:[\\w-]{35}(?![\\w-]))`,
      'g',
    ),
  },
  'hooks.slack¦bot12345¦webhooks/': {
    'https://hooks.slack.com/services/§T0/B0/aB3dE5§':
      /(?<before>hooks\.slack\.com\/(?:services|workflows|triggers)\/)[^\s"'<>`?#]+/g,
    'https://api.telegram.org/bot§123456789:aB3dE5fG7h§/send': /(?<before>\bbot)\d{5,12}(?::|%3A)[\w-]{8,}/g,
    'https://discord.com/api/webhooks/§12/aB3dE5§': /(?<before>discord(?:app)?\.com\/api\/webhooks\/)[^\s"'<>`?#]+/g,
  },
  // The link of a mail: who has it, is the user.
  ['reset¦verif¦confirm¦activat¦invit¦magic¦unsubscri¦recover'.replace(/\w+/g, '/$&¦-$&¦_$&') +
    '¦-password/¦-email/¦-account/¦-login/']: {
    'https://shop.test/reset/§aB3dE5fG§ ¦ /email-verification/§aB3dE5fG§?u=1 ¦ /activate/MQ/§aB3dE5fG§': form`(?<before>
      \/(?:[a-z]{1,20}[-_])?(?:(?:reset|verif|confirm|activat|invit|magic|unsubscri|recover)[a-z_-]{0,30}\/(?:[\w-]{1,12}\/)?|
      (?:password|email|account|login)[a-z_-]{0,30}\/(?:\d{1,9}\/)?))
      (?=[\w~%=+.-]{0,300}\d)(?=[\w~%=+.-]{0,300}[a-z])(?!v\d{1,3}(?!\w)|[\w-]+\.[a-z\d]{1,5}(?![\w.-])|\d{4}-\d\d)[\w~%=+.-]{8,}`,
  },
  'private-lines': {
    'Private-Lines: 2\n§AAAAaB3\ndE5=§\nPrivate-MAC: x':
      /(?<before>\bPrivate-Lines: \d{1,3}\r?\n)[A-Z\d+/=]+(?:\r?\n[A-Z\d+/=]+(?![^\r\n]))*/gi,
  },
  '-----begin': {
    '§-----BEGIN PRIVATE KEY-----\naB3dE5\n-----END PRIVATE KEY-----§':
      /(?<before>)-----BEGIN [A-Z\d ]{1,60}-----(?:(?!-----BEGIN)[\s\S])*?(?:-----END [A-Z\d ]{1,60}-----|(?=-----BEGIN)|$)/g,
  },
}

/** Forms with a secret name: their words are frequent in other texts. */
const namedForms: Forms = {
  [' is¦ was¦ for ¦ from ¦entered¦given¦invalid¦malformed¦provided¦received¦rejected¦sent¦submitted¦supplied¦typed¦used¦' +
    'password ¦passwd ¦passphrase ¦passcode ¦api key ¦apikey ¦api_key ¦api-key ¦secret ¦token ¦key ¦--']: {
    'Incorrect API key provided: §aB3dE5.§ ¦ OTP for ada: §482913§': form`(?<before>\b(?:${nameOfSecret})(?: (?:is|was|(?:for|from) [\w@.-]{1,64}|
      entered|given|invalid|malformed|provided|received|rejected|sent|submitted|supplied|typed|used)){1,2}: ["']?)
      ${digit}(?!\d{1,3}(?![^\s.])|\d{4}-\d\d|[a-z]{1,30}-\d{1,4}(?!\S))[^\s"'\x60\\]{4,}`,
    'the password was changed to §aB3dE5§ ¦ your one-time code is §482x13§': form`(?<before>
      \b(?:${nameOfSecret}|(?:one-time|recovery|verification) code) (?:is|was) (?:(?:changed|reset|set) to )?)
      ${digit}(?![\d.,]+(?:\s|$))(?!${algorithm})[^\s"']{4,}`,
    '--api-key §aB3dE5§':
      /(?<before>(?:^|\s)--[\w-]{0,40}(?:passw|passphrase|secret|token|key|pwd|auth)[\w-]{0,40}[ \t](?![-\s<[{|]))[^\s"']+/gi,
    'the token §aB3dE5fG7h§ was refused': new RegExp(
      String.raw`(?<before>\b(?:[Pp]assword|[Pp]assphrase|[Aa][Pp][Ii][ _-]?[Kk]ey|[Ss]ecret|(?<!nexpected )[Tt]oken|[Kk]ey) )` +
        String.raw`(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[^\s"'.,:;()<>[\]{}]{8,}`,
      'g',
    ),
  },
  '->¦→¦<-¦|¦\t¦ (': {
    'secret -> §aB3dE5§ ¦ password (§aB3dE5§) ¦ apiKey|§aB3dE5§': form`(?<before>(?<![\w.-])(?<name>[\w.-]{1,100})(?: ?(?:->|→|<-|\|) ?|\t| \())${digit}(?=[^\s"'\x60|()\\]{0,300}[A-Z])
      (?!\S{0,300}[/:]|${algorithm}|[a-z]{1,30}-?\d{1,4}(?![\w-]))[^\s"'\x60|()\\]{6,}`,
  },
  '",¦\',¦`,¦" ,¦\' ,': {
    "['x-api-key', '§aB3 dE5§']": form`(?<=\k<around>(?<name>[\w.-]{1,100})(?<around>["'\x60])\s{0,3},\s{0,3})(?<before>["'\x60])
      (?![A-Za-z_]+\k<before>|[/:][\w/:{}.-]*\k<before>)(?:\\.|(?!\k<before>)[^\\\r\n])+(?=\k<before>)`,
  },
  'form-data': {
    'Content-Disposition: form-data; name="api_key"\r\n\r\n§aB3 dE5§\r\n--x': form`(?<before>\bform-data; ?name="?(?<name>[^"\r\n;]{1,100})"?[^\r\n]{0,200}(?:\r?\n[\w-]{1,40}:[^\r\n]{0,200}){0,4}\r?\n\r?\n)
      [\s\S]+?(?=\r?\n--|$)`,
  },
  'Symbol(¦&quot;¦&apos;¦&#34;¦&#x22;¦%22¦s:1:': {
    "{ [Symbol(password)]: '§aB3 dE5§' }":
      /(?<before>\[Symbol\((?<name>[^()\r\n]{1,100})\)\]: ?(["'`]))(?:\\.|(?!\3)[^\\])+(?=\3)/g,
    '&quot;password&quot;:&quot;§aB3 dE5§&quot;': form`(?<before>${entity}(?<name>[\w-]{1,100})${entity}\s?[:=]\s?${entity})(?:(?!${entity})[^\r\n])+`,
    '%22password%22%3A%22§aB3dE5§%22':
      /(?<before>%22(?<name>[\w-]{1,100})%22(?:%20|\+)?%3A(?:%20|\+)?%22)(?:(?!%22)[^\s"'<>`])+/gi,
    // `serialize` of PHP
    's:8:"password";s:6:"§aB3dE5§";': /(?<before>\bs:\d{1,9}:\\?"(?<name>[^"\\]{1,100})\\?";s:\d{1,9}:\\?")[^"\\]+/g,
  },
  "in(¦in (¦in  (¦like '¦password for ¦crypt(¦key (¦duplicate entry '": {
    "token IN (§'aB3dE5', 'x'§)": form`(?<before>\bin\s{0,3}\()(?<=(?<name>${listed}in\s{0,3}\()(?=["'])[^()]{1,2000}`,
    "token LIKE '§aB3%§'": form`(?<before>\bi?like ')(?<=(?<name>${listed}i?like ')(?:[^']|'')+`,
    "SET PASSWORD FOR 'ada' = '§aB3dE5§'":
      /(?<before>\bset password for [^=\r\n]{1,200}=\s{0,3}(?:\w{1,30}\()?')(?:[^']|'')+/gi,
    "crypt(§'aB3dE5', 'x'§)": /(?<before>\b(?:crypt|pgp_sym_(?:en|de)crypt)\()(?=')[^()]{1,2000}/gi,
    'Key (email)=(§ada@example.org§) already exists.': form`(?<before>\bkey \((?<name>(?:(?!\)=\()[^\r\n]){1,500})\)=\()(?!\))(?:(?!\)
      (?: (?:already exists|is not present|is still referenced|is duplicated|conflicts with)|\.?$))[\s\S]){1,4000}`,
    "Duplicate entry '§ada@example.org§' for key 'users.email'":
      /(?<before>\bduplicate entry ')[\s\S]{1,200}?(?=' for key '(?<name>[^'\r\n]{1,200})')/gi,
  },
  'received ¦got "¦got \'¦value "¦value \'': {
    "The property 'password' is invalid. Received §'aB3dE5'§": form`(?<before>\bThe (?:(?:property|argument) '|")(?<name>[\w.-]{1,100})['"] [^\r\n]{1,200}?\bReceived )
      (?!undefined|null|an instance)[^\r\n]+`,
    'password: expected a number, got "§aB3 dE5§"':
      /(?<before>\b(?:got|received) ["'])(?<=(?<name>[\w.-]{1,100}): [^"':\r\n]{1,200}["'])[^"'\r\n]+/g,
    '"password" with value "§aB3 dE5§" fails to match':
      /(?<before>"(?<name>[\w.[\]-]{1,100})" with value ")[^\r\n]{1,500}?(?=" (?:fails|matches|contains|must|is)\b)/g,
    'Cast to String failed for value "§aB3 dE5§" (type string) at path "password"': form`(?<before>\bCast to \w{1,40} failed for value ["'])[^\r\n]{1,500}?
      (?=["'] \(type [^()\r\n]{1,60}\) at path "(?<name>[^"\r\n]{1,100})")`,
    'Invalid value "§aB3 dE5§" for "api_key"':
      /(?<before>\bvalue ["'])[^"'\r\n]{1,500}(?=["'] for ["']?(?<name>[\w.-]{1,100}))/gi,
  },
  'set ¦ex ¦setnx ': {
    'aws configure set aws_secret_access_key §aB3dE5§': /(?<before>\bconfig(?:ure)? set (?<name>\S{1,200}) )(?!-)\S+/g,
    'HSET u §password aB3dE5§': /(?<before>\bH(?:M?SET|SETNX) \S{1,200} )(?=(?<name>[^\r\n]{1,500}))[^\r\n]+/g,
    'SETEX otp:7 §60 aB3dE5§': /(?<before>\b(?:(?:P?SET)?EX|SETNX|GETSET|SETEX|PSETEX) (?<name>\S{1,200}) )[^\r\n]+/g,
  },
}

/** The forms of texts that need not contain a secret name. */
const otherForms: Forms = {
  'password ¦passwd ¦passphrase ¦passcode ¦identified by ': {
    'password "§aB3 dE5§" is wrong ¦ IDENTIFIED BY \'§aB3 dE5§\'': form`(?<before>\b(?:pass(?:word|wd|phrase|code)|identified by)\s{1,9}(?:is |was |to )?(["']))(?:(?!\2)[^\\\r\n]|\\.)+(?=\2)`,
  },
  // RFC 6749, section 4.1, and RFC 7518, section 6
  '?code=¦&code=¦kty': {
    'GET /cb?code=§aB3dE5§&state=1 ¦ GET /cb?state=1&code=§aB3dE5§': form`(?<before>[?&]code=)(?:(?=\S{0,500}&${state})|(?<=[?&]${state}\S{0,500}))[^&#\s"'<>\x60]+`,
    '{"kty":"EC","crv":"P-256","d":"§aB3dE5§"} ¦ { d: \'§aB3dE5§\', kty: \'OKP\' }': form`(?<before>(?<![\w$-])(?:[dpqk]|dp|dq|qi)\\{0,9}["']?\s?:\s?\\{0,9}["'])
      (?:(?<=\bkty\b[^{}]{0,1500})|(?=[^{}]{0,1500}\bkty\b))[^"'\\]+`,
  },
  "row contains (¦1 = '¦invalid input ¦value: '": {
    'Failing row contains (§1, ada§).':
      /(?<before>\brow contains \()(?:[\s\S]{1,4000}(?=\)\.(?:["\r\n]|$))|[\s\S]{1,4000})/gi,
    "parameters: $1 = '§aB3 dE5§'": /(?<before>\$\d{1,5} = ')(?:[^']|''){1,4000}(?=')/g,
    'invalid input syntax for type integer: "§aB3 dE5§"':
      /(?<before>\binvalid input (?:syntax|value) for [^:"\r\n]{1,80}: ")(?:(?!"(?:[\s.,;)\\]|$))[^\r\n])+/g,
    "Incorrect integer value: '§aB3 dE5§' for column 'id' at row 1": form`(?<before>\b(?:incorrect|truncated) \w{1,20}(?: \w{1,20})? value: ')[^\r\n]{1,200}?(?='(?: for column |$))`,
  },
  ['auth ¦with args ¦config set ¦setuser ¦magiclink:¦magic-link:¦magic_link:¦rememberme:¦remember-me:¦remember_me:¦invite:¦' +
    'invitation:¦login:¦reset:¦verify:¦sess:']: {
    'AUTH default §aB3dE5§':
      /(?<before>(?:^|[\s"'`])AUTH (?:[^\s"'`]{1,64} )?)(?=[^\s"'`]*\d)[^\s"'`<>\\]{4,}(?=\s*(?:["'`\\]|$))/gm,
    "unknown command, with args beginning with: §'a' 'aB3dE5'§": /(?<before>\bwith args beginning with: )[\s\S]+/g,
    'CONFIG SET requirepass §aB3dE5§': /(?<before>\bCONFIG SET (?:requirepass|masterauth|tls-key-file-pass) )\S+/gi,
    'ACL SETUSER §a on >aB3dE5 ~*§': /(?<before>\bACL SETUSER )(?=[^\r\n]{0,300}[ ][>#<!]\S)[^\r\n]+/gi,
    'GET magic-link:§aB3dE5§': form`(?<before>\b(?:magic[-_]?link|remember[-_]?me|invit(?:e|ation)|login|reset|verify|sess):)(?=[\w-]*\d)[\w-]{6,}`,
  },
  ' -u¦ -l¦ --¦\t-¦+-¦ -p¦ -a ¦ -k ¦ -n ': {
    'curl -u §ada:aB3dE5§ http://h/ ¦ curl --user §ada:aB3dE5§': form`(?<before>(?:^|\s)--?(?:[a-z]{1,20}-)?(?:u|user|login) ?=?["']?)[^\s"':=]{1,100}:(?!\d{1,9}(?:\s|$))[^\s"'@/][^\s"']*`,
    'mysql -u root -p§aB3§ ¦ sshpass -p §aB3§ ssh h ¦ redis-cli -a §aB3§ ¦ http -a §ada:aB3§ GET h ¦ openssl enc -k §aB3§': form`(?<before>\b(?:(?:mysql|mariadb|sshpass)[\w-]{0,20}(?= )${options}? -p ?(?!-)|(?:redis-cli|https?(?= -a \S{1,100}:)) ${options}?-a |
      ssh-keygen ${options}?-N |zip ${options}?-P |openssl ${options}? -(?:k|pass(?:in|out)?) ))[^\s"'-][^\s"']*`,
    'docker login -p §aB3§ ¦ az login -u ada -p §aB3§': form`(?<before>\b(?:docker|podman|helm|oras|az)(?= )[^\r\n|;&]{0,40}? login\b${options}? -p[ =]?)[^\s"'-][^\s"']*`,
    'echo §aB3§ | docker login -p -': /(?<before>\becho )[^\r\n|]{1,200}(?= \| ?(?:docker|podman|helm|oras) )/g,
  },
  'token,¦bearer,¦jwt,¦auth,¦authorization,¦apikey,¦api-key,¦api_key,': {
    'Sec-WebSocket-Protocol: bearer, §aB3dE5§ ¦ graphql-ws,access_token,§aB3dE5§':
      /(?<before>(?<![\w-])(?:\w{0,20}token|auth(?:orization)?|bearer|jwt|api[-_]?key), ?)(?=[^\s,"'`]{0,400}\d)[\w.+/=~-]{6,}(?![^\s,"'`])/gi,
  },
  '12345678901234¦1234 1234 1234¦1234-1234-1234¦1234 123456 1234¦1234-123456-1234': {
    'card §4111 1111 1111 1111§ ¦ {"card":"§378282246310005§"} ¦ §5500-0055-5555-5559§': form`(?<before>(?<![\w.-]))
      (?<card>(?=3[04-9]|4|5[1-5]|6[02-5]|2[2-7])(?:\d{14,19}|\d{4}(?<mark>[ -])(?:\d{4}\k<mark>\d{4}\k<mark>\d{2,7}|\d{6}\k<mark>\d{4,5})))(?![\w-]|\.\d)`,
  },
  // JSON that base64 hides, such as a cursor or a state.
  'eyI¦eyJ¦eyK¦eyL¦eyA¦ewo¦ew0¦W3s¦WyI¦WyJ': {
    'state=§eyJwYXNzd29yZCI6ImFCM2RFNSJ9§&page=2 ¦ data:application/json;base64,§W3sidG9rZW4iOiJhQjNkRTUifV0=§':
      /(?<before>(?<![\w+-]))(?<json>(?:ey[AI-L]|ew[o0]|W3s|Wy[IJ])(?:[\w+/-]|%2[bf]){8,}(?:=|%3d){0,2})/gi,
  },
  // The value is in the variables, or in the document.
  'got invalid value ¦cannot represent ': {
    'Variable "$i" got invalid value §{ p: "aB3 dE5" }§ at "i.p" ¦ String cannot represent a non string value: §482913§': form`
      (?<before>\b(?:got invalid value |cannot represent (?:[\w -]{1,60} )?value: ))
      (?:(?<mark>\\*["'])(?:(?!\k<mark>)(?:\\.|[^\r\n]))+\k<mark>?|[{[][^\r\n]{0,4000}[}\]]|[^\s"'\\;]+)`,
  },
  'machine ¦:1234:¦:12345:¦:*:¦vault login ': {
    'vault login §aB3dE5§': /(?<before>\bvault login )(?![-\s])[\w.-]*\d[\w.-]*/g,
    'machine h login u password §aB3dE5§': /(?<before>\bmachine \S{1,200} login \S{1,200} password )\S+/g,
    'db.example:5432:shop:ada:§aB3dE5§':
      /(?<before>(?<![^\s"'])[^\s:#/"']{1,200}:(?:\d{4,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:)[^\s"']+/g,
  },
  ['bearer¦basic¦digest¦ntlm¦negotiate¦kerberos¦token¦apikey'.replace(/\w+/g, '$& ¦$&+¦$&\t')]: {
    'sent Bearer §aB3dE5§ to the API': form`(?<before>(?<![\w/-])bearer[ \t]{1,8})(?!\*{6})(?!(?:tokens?|auth\w*|schemes?|bearer|of|is|was|in|for|
      the|and|or|not|realm|error|expired|invalid|missing|required|must)(?:[.:=!?\s"',;<>\\]|$))${word}+`,
    'Basic §YWRhOnNlc2FtZQ==§': form`(?<before>(?<![\w/-])basic[ \t]{1,8})(?!\*{6})(?<base64>${word}+)`,
    // The challenge of a server has neither a user nor a response.
    'Digest §username="a", response="aB3dE5"§': form`(?<before>(?<![\w/-])digest[ \t]{1,8})(?=\w{1,20}=)(?=[\s\S]{0,500}[\s,]response=|username=)
      (?:[^\r\n\\"'\x60]|(?<==)(?<quote>\\*["'\x60])(?:(?!\k<quote>)[\s\S])*\k<quote>|(?<=[\w%])["'\x60](?=[\w%]))+`,
    // "Unexpected token x" is the message of a parser.
    'Token §aB3dE5§': form`(?<before>(?<![\w,'"] )(?<![\w/-])(?:token|apikey)[ \t]{1,8})(?=${word}{0,399}\d)[\w.+/=~-]{6,}(?!${word})`,
    'Negotiate §YIIaB3dE5==§': form`(?<before>(?<![\w/-])(?:ntlm|negotiate|kerberos)[ \t]{1,8})(?![a-z]+(?!${word}))[a-z\d+/=_-]{6,}(?!${word})`,
  },
  // The user may be a token. A user of a database without a password is no secret: `postgres://ada@host`.
  [userinfo]: {
    'https://§aB3dE5§@github.com/a/b.git ¦ //§ada:aB3dE5§@h': form`(?<before>\/\/)(?!git@)
      (?!(?<=\b(?:postgres(?:ql)?|mysql|mariadb|mongodb|ssh|sftp):\/\/)[a-z_]{1,30}@)[^\s"'<>\x60/?#]+(?=@)`,
    'postgres://§u:p/aB3dE5§@db/x': form`(?<before>\/\/)[^\s"'<>\x60/?#@[:]*:(?!\d*(?:[/?#\s"'<>\x60]|$))(?:(?!\/\/)[^\s"'<>\x60])*(?=@)`,
    'postgres://§u:p aB3dE5§@db/x': form`(?<before>\/\/)(?!\d{0,5}[\s"'<>\x60])[^\s:/@"'<>\x60?#*[]{0,100}:
      (?!\d{1,5}(?:[\s"'<>\x60/?#,;)]|$))[^@/\r\n]{1,100}(?=@[\w[])`,
    'redis://§:p#aB3dE5§@h':
      /(?<before>\b(?!https?:|wss?:)[a-z][a-z\d+.-]{1,30}:\/\/)[^\s"'<>`/@?#]{0,100}:[^\s"'<>`]{1,300}(?=@[\w[])/gi,
    'jdbc:oracle:thin:§scott/aB3dE5§@db': /(?<before>\bjdbc:oracle:\w{1,10}:)[^\s/@]{1,100}\/[^\s@]{1,200}(?=@)/gi,
    '?next=https%3A%2F%2F§ada%3AaB3dE5§%40h': /(?<before>%2f%2f)(?:(?!%(?:2[36f]|3f))[^\s"'<>`/?#&])+(?=%40)/gi,
    // Words before the colon of other addresses are no user names.
    'connect to §ada:aB3dE5§@db.example': form`(?<before>(?<![^\s"'<>\x60,;(){}[\]=@])|(?<=\w:\/))(?!(?:jdbc|mailto|npm|jsr|pkg|git|ssh|file|link|portal|
      patch|workspace|acct|sips?|xmpp|im|tel|to|cc|bcc|from|e-?mail):)[\w.+~%-]{1,64}:[^\s"'<>\x60/\\,;(){}[\]=@]{1,135}(?=@[a-z\d[])`,
  },
}

/** All forms. The first bit of a text is that of secret names, and each group has the next one. */
export const groups = [firstForms, namedForms, otherForms].flatMap(forms => Object.entries(forms))
const patterns = groups.map(([, forms]) => Object.values(forms))
const bitsOf = (forms: Forms) => groups.reduce((bits, [needs], index) => (forms[needs] ? bits | (2 << index) : bits), 0)
const namedBits = bitsOf(namedForms)
/** The bits of the forms that are masked first, and of userinfo. */
export const firstBits = bitsOf(firstForms)
export const userinfoBit = bitsOf({ [userinfo]: {} })
/** The bit of the words that a finder has in addition. */
export const moreBit = 2 << groups.length

/**
 * Creates a finder for {@link findWords}, with more words between `¦`. The last one is kept:
 * programs have one, or tests many of the same.
 */
export function createFinder(more: string): WordFinder {
  if (last?.more !== more)
    last = { more, finder: new WordFinder([wordsOfNames, ...groups.map(([needs]) => needs), more]) }
  return last.finder
}

let last: { readonly more: string; readonly finder: WordFinder } | undefined
let usual: WordFinder | undefined

/**
 * Finds what a text may contain: 0 if it contains no secret, an odd number if it may contain a secret name. The ends of
 * parts of secret names are added to `places`. Most texts have no secret, and this is ten times faster than masking.
 */
export function findWords(text: string, places?: number[], words?: WordFinder): number {
  // One takes some milliseconds of the start: the first one with more words serves for all texts.
  usual ??= words ?? createFinder('')
  const found = words === undefined ? usual.find(text, places) & ~moreBit : words.find(text, places)
  return (found & 1) === 0 ? found & ~namedBits : found
}

/** Masks the secrets that the forms of a text show, those of some bits. */
export function maskForms(text: string, isSecret: NameTest, found = findWords(text)): string {
  let masked = text
  for (const [index, forms] of patterns.entries()) {
    if ((found & (2 << index)) !== 0) for (const pattern of forms) masked = masked.replace(pattern, replace)
  }
  return masked

  function replace(...found: unknown[]): string {
    // The last argument has the groups of the match.
    const { base64, before, card, json, name } = found.at(-1) as { readonly [part: string]: string | undefined }
    const isOther = base64 !== undefined && !Buffer.from(base64.slice(0, 400), 'base64').includes(':')
    const isOrdinary = json !== undefined && !hidesName(json, isSecret)
    const isPublic = name !== undefined && !name.match(/[\w.-]+/g)?.some(isSecret)
    const isId = card !== undefined && !hasCheckDigit(card.replace(/\D/g, ''))
    return isOther || isOrdinary || isPublic || isId ? String(found[0]) : `${before}${mask}`
  }
}

/** Whether base64 hides JSON with a secret name. */
function hidesName(base64: string, isSecret: NameTest): boolean {
  const marks: Readonly<Record<string, string>> = { '%2b': '+', '%2f': '/' }
  const text = Buffer.from(
    base64.replace(/%2[bf]/gi, mark => marks[mark.toLowerCase()] ?? ''),
    'base64',
  ).toString()
  return Array.from(text.matchAll(/"([^"\\]{1,100})"\s{0,9}:/g), ([, name = '']) => name).some(isSecret)
}

/** Whether the sum of the digits, of which every second one from the right is doubled, ends with 0. */
function hasCheckDigit(digits: string): boolean {
  const sum = [...digits].reverse().reduce((sum, digit, index) => {
    const value = Number(digit) * (1 + (index % 2))
    return sum + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}
