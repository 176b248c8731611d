import { mask } from './mask.ts'

/**
 * Masks `//user:password@host`: all of the userinfo, because a token may stand where the user does. Also percent-encoded,
 * as in a URL within a query, and without a scheme: `user:password@host`. Takes linear time.
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
  // A password with a slash that is not encoded: the text behind the colon is no port.
  if (at === -1 && /^[^[:]*:(?!\d*$)/.test(authority)) at = part.lastIndexOf('@')
  return at > 0 ? mask + part.slice(at) : part
}

/** Words before the colon of an address that are not the name of a user. */
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
