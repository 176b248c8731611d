import { mask, type NameTest } from './secret-names.ts'

/** A quote or an escaped one of HTML. */
const entity = '&(?:quot|apos|#34|#39|#x22);'

/**
 * The forms in which texts contain secrets, by the texts that all of a group contain. The part `before` stays, and the mask
 * replaces the rest of the match. With a part `name` one of its words must be the name of a secret. Repetitions have limits, so
 * that the time grows only as the text does. MySQL cuts values in its messages at 128 or 192 characters.
 */
const forms: readonly (readonly [shared: RegExp, ...forms: RegExp[]])[] = [
  [
    /pass|identified|api[ _-]?key|secret|token|pin |code|key | --/i,
    // `password "x"`, `IDENTIFIED BY 'x'`, `--password x`, `the password is hunter2`, `the API key aB3…`
    /(?<before>\b(?:pass(?:word|wd|phrase|code)|identified by)\s{1,9}(?:is |was |to )?(["']))(?:(?!\2)[^\\\r\n]|\\.)+(?=\2)/gi,
    /(?<before>(?:^|\s)--[\w-]{0,40}(?:passw|passphrase|secret|token|key|pwd|auth)[\w-]{0,40}[ \t](?![-\s<[{|]))[^\s"']+/gi,
    /(?<before>\b(?:pass(?:word|wd|phrase|code)|(?:api|license)[ _-]?key|secret|token|pin|(?:one-time|recovery|verification) code) (?:is|was) (?:(?:changed|reset|set) to )?)(?=\S*\d)(?![\d.,]+(?:\s|$))(?!(?:sha|md|base|utf|v|aes|hs|rs|es)-?\d)[^\s"']{4,}/gi,
    /(?<before>\b(?:[Pp]assword|[Pp]assphrase|[Aa][Pp][Ii][ _-]?[Kk]ey|[Ss]ecret|(?<!nexpected )[Tt]oken|[Kk]ey) )(?=\S*\d)(?=\S*[a-z])(?=\S*[A-Z])[^\s"'.,:;()<>[\]{}]{8,}/g,
  ],
  [
    /[?&]code=|,\s{0,3}["'`]|Symbol\(|&(?:quot|#)|%22/i,
    // The code of OAuth beside its state (RFC 6749, section 4.1), `['x-api-key', 'x']`, `{ [Symbol(password)]: 'x' }`, and JSON in HTML or in a URL
    /(?<before>[?&]code=)(?:(?=\S{0,500}&(?:state|session_state|iss|grant_type)=)|(?<=[?&](?:state|session_state|iss|grant_type)=\S{0,500}))[^&#\s"'<>`]+/g,
    /(?<=\k<around>(?<name>[\w.-]{1,100})(?<around>["'`])\s{0,3},\s{0,3})(?<before>["'`])(?![A-Za-z_]+\k<before>|[/:][\w/:{}.-]*\k<before>)(?:\\.|(?!\k<before>)[^\\\r\n])+(?=\k<before>)/g,
    /(?<before>\[Symbol\((?<name>[^()\r\n]{1,100})\)\]: ?(["'`]))(?:\\.|(?!\3)[^\\])+(?=\3)/g,
    new RegExp(
      `(?<before>${entity}(?<name>[\\w-]{1,100})${entity}\\s?[:=]\\s?${entity})(?:(?!${entity})[^\\r\\n])+`,
      'g',
    ),
    /(?<before>%22(?<name>[\w-]{1,100})%22(?:%20|\+)?%3A(?:%20|\+)?%22)(?:(?!%22)[^\s"'<>`])+/gi,
  ],
  [
    /\bin\s{0,3}\(|like '|password for|crypt\(|key \(|row contains|\$\d|entry '|invalid input|value: '/i,
    // Statements, and messages of databases.
    /(?<before>\bin\s{0,3}\()(?<=(?<name>[\w."`]{1,100})\s{1,3}(?:not\s{1,3})?in\s{0,3}\()(?=["'])[^()]{1,2000}/gi,
    /(?<before>\bi?like ')(?<=(?<name>[\w."`]{1,100})\s{1,3}(?:not\s{1,3})?i?like ')(?:[^']|'')+/gi,
    /(?<before>\bset password for [^=\r\n]{1,200}=\s{0,3}(?:\w{1,30}\()?')(?:[^']|'')+/gi,
    /(?<before>\b(?:crypt|pgp_sym_(?:en|de)crypt)\()(?=')[^()]{1,2000}/gi,
    /(?<before>\bkey \((?<name>(?:(?!\)=\()[^\r\n]){1,500})\)=\()(?!\))(?:(?!\)(?: (?:already exists|is not present|is still referenced|is duplicated|conflicts with)|\.?$))[\s\S]){1,4000}/gi,
    /(?<before>\brow contains \()(?:[\s\S]{1,4000}(?=\)\.(?:["\r\n]|$))|[\s\S]{1,4000})/gi,
    /(?<before>\$\d{1,5} = ')(?:[^']|''){1,4000}(?=')/g,
    /(?<before>\bduplicate entry ')[\s\S]{1,200}?(?=' for key '(?<name>[^'\r\n]{1,200})')/gi,
    /(?<before>\binvalid input (?:syntax|value) for [^:"\r\n]{1,80}: ")(?:(?!"(?:[\s.,;)\\]|$))[^\r\n])+/g,
    /(?<before>\b(?:incorrect|truncated) \w{1,20}(?: \w{1,20})? value: ')[^\r\n]{1,200}?(?='(?: for column |$))/gi,
  ],
  [
    /received |got ["']|value ["']/i,
    // Messages of validators.
    /(?<before>\bThe (?:(?:property|argument) '|")(?<name>[\w.-]{1,100})['"] [^\r\n]{1,200}?\bReceived )(?!undefined|null|an instance)[^\r\n]+/g,
    /(?<before>\b(?:got|received) ["'])(?<=(?<name>[\w.-]{1,100}): [^"':\r\n]{1,200}["'])[^"'\r\n]+/g,
    /(?<before>"(?<name>[\w.[\]-]{1,100})" with value ")[^\r\n]{1,500}?(?=" (?:fails|matches|contains|must|is)\b)/g,
    /(?<before>\bCast to \w{1,40} failed for value ["'])[^\r\n]{1,500}?(?=["'] \(type [^()\r\n]{1,60}\) at path "(?<name>[^"\r\n]{1,100})")/g,
    /(?<before>\bvalue ["'])[^"'\r\n]{1,500}(?=["'] for ["']?(?<name>[\w.-]{1,100}))/gi,
  ],
  [
    /AUTH |SET|EX |with args |:(?<=(?:link|me|ite|ation|login|reset|verify|sess):)/i,
    // Commands of Redis, and keys with a secret.
    /(?<before>(?:^|[\s"'`])AUTH (?:[^\s"'`]{1,64} )?)(?=[^\s"'`]*\d)[^\s"'`<>\\]{4,}(?=\s*(?:["'`\\]|$))/gm,
    /(?<before>\bwith args beginning with: )[\s\S]+/,
    /(?<before>\bCONFIG SET (?:requirepass|masterauth|tls-key-file-pass) )\S+/gi,
    /(?<before>\bACL SETUSER )(?=[^\r\n]{0,300}[ ][>#<!]\S)[^\r\n]+/gi,
    /(?<before>\bH(?:M?SET|SETNX) \S{1,200} )(?=(?<name>[^\r\n]{1,500}))[^\r\n]+/g,
    /(?<before>\b(?:(?:P?SET)?EX|SETNX|GETSET|SETEX|PSETEX) (?<name>\S{1,200}) )[^\r\n]+/g,
    /(?<before>\b(?:magic[-_]?link|remember[-_]?me|invit(?:e|ation)|login|reset|verify|sess):)(?=[\w-]*\d)[\w-]{6,}/gi,
  ],
  [
    / --?[aklpu]|jdbc|machine |:(?:\d{4,5}|\*):|:\/\/[^\s/]{0,100}:/,
    // Commands with secrets in options, and files of credentials.
    /(?<before>(?:^|\s)--?(?:[a-z]{1,20}-)?(?:u|user|login) ?=?["']?)[^\s"':=]{1,100}:(?!\d{1,9}(?:\s|$))[^\s"'@/][^\s"']*/g,
    /(?<before>\b(?:mysql|mariadb|sshpass)[\w-]{0,20}(?= )[^\r\n|;&]{0,200}? -p ?)(?!-)[^\s"'-][^\s"']*/g,
    /(?<before>\b(?:docker|podman|helm|oras)(?= )[^\r\n|;&]{0,40}? login\b[^\r\n|;&]{0,200}? -p[ =]?)[^\s"'-][^\s"']*/g,
    /(?<before>\bredis-cli [^\r\n|;&]{0,200}?-a )[^\s"']+/g,
    /(?<before>\bopenssl [^\r\n|;&]{0,200}? -(?:k|pass(?:in|out)?) )[^\s"']+/g,
    /(?<before>\bmachine \S{1,200} login \S{1,200} password )\S+/g,
    /(?<before>(?<![^\s"'])[^\s:#/"']{1,200}:(?:\d{4,5}|\*):[^\s:]{1,100}:[^\s:]{1,100}:)[^\s"']+/g,
    /(?<before>\b(?!https?:|wss?:)[a-z][a-z\d+.-]{1,30}:\/\/)[^\s"'<>`/@?#]{0,100}:[^\s"'<>`]{1,300}(?=@[\w[])/gi,
    /(?<before>\bjdbc:oracle:\w{1,10}:)[^\s/@]{1,100}\/[^\s@]{1,200}(?=@)/gi,
  ],
]

/** Masks the secrets that the forms of a text show. */
export function maskForms(text: string, isSecret: NameTest): string {
  let masked = text
  for (const [shared, ...patterns] of forms) {
    if (shared.test(masked)) for (const form of patterns) masked = masked.replace(form, replace)
  }
  return masked

  function replace(...found: unknown[]): string {
    // The last argument has the groups of the match.
    const { before, name } = found.at(-1) as { readonly before: string; readonly name?: string }
    return name === undefined || name.match(/[\w.-]+/g)?.some(isSecret) ? `${before}${mask}` : String(found[0])
  }
}
