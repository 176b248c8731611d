import assert from 'node:assert'
import { inspect } from 'node:util'
import t from 'tap'
import { maskMarkup } from '#lib/redact/mask-markup.ts'
import { maskQuotedValues } from '#lib/redact/mask-quoted-values.ts'
import { maskText } from '#lib/redact/mask-text.ts'
import { isSecretName } from '#lib/redact/secret-names.ts'
import { pieces } from '#tests/fixtures/masking-pieces.ts'

/** As they come in messages, logs, bodies and URLs; the secret is `Xk7Canary9`, sometimes with more beside it. */
const secrets: readonly (readonly [text: string, masked: string])[] = [
  [
    "{\n  user: 'ada',\n  password: 'Xk7Canary9',\n  apiKey: 'Xk7Canary9',\n  nested: {\n    tokens: [ 'Xk7Canary9', 'Xk7Canary9' ],\n    secret: { deep: 'Xk7Canary9' }\n  }\n}",
    "{\n  user: 'ada',\n  password: '******',\n  apiKey: '******',\n  nested: {\n    tokens: ******,\n    secret: ******\n  }\n}",
  ],
  ['{ password: `it\'s Xk7Canary9 "q"` }', '{ password: `******` }'],
  ["Map(1) { 'password' => 'Xk7Canary9' }", "Map(1) { 'password' => '******' }"],
  ["{ session: Map(1) { 'a' => 'Xk7Canary9' } }", '{ session: ****** }'],
  ['{ token: <Buffer 58 6b 37 43 61 6e 61 72 79 39> }', '{ token: ****** }'],
  ["{ tokens: Set(1) { 'Xk7Canary9' } }", '{ tokens: ****** }'],
  ["{\n  password: 'Xk7Canary9'\n}", "{\n  password: '******'\n}"],
  [
    "{\n  config: {\n    db: { password: [ { a: 'Xk7Canary9' } ] }\n  }\n}",
    '{\n  config: {\n    db: { password: ****** }\n  }\n}',
  ],
  [
    "Expected values to be strictly deep-equal:\n+ actual - expected ... Lines skipped\n\n  {\n    list: [\n...\n      3\n    ],\n+   password: 'Xk7Canary9',\n-   password: 'otherXk7Canary9',\n    user: 'a'\n  }",
    "Expected values to be strictly deep-equal:\n+ actual - expected ... Lines skipped\n\n  {\n    list: [\n...\n      3\n    ],\n+   password: '******',\n-   password: '******',\n    user: 'a'\n  }",
  ],
  ['password: Xk7Canary9', 'password: ******'],
  ['the login with dbPassword:swordfish has failed', 'the login with dbPassword:****** has failed'],
  ['x%3Dghp_Xk7Canary9', 'x%3D******'],
  ['path%2FAKIAXK7CANARY9XK7CANARY9', 'path%2F******'],
  ['path%2fglpat-Xk7Canary9', 'path%2f******'],
  ['x%253Dghp_Xk7Canary9', 'x%253D******'],
  ['password = Xk7Canary9', 'password = ******'],
  ['password is Xk7Canary9', 'password is ******'],
  ["WHERE password = 'Xk7Canary9'", "WHERE password = '******'"],
  ["WHERE password = 'it''s Xk7Canary9' AND id = 7", "WHERE password = '******' AND id = 7"],
  [
    "INSERT INTO users (name, password) VALUES ('ada', 'Xk7Canary9')",
    "INSERT INTO users (name, password) VALUES ('ada', '******')",
  ],
  [
    "INSERT INTO users (name, password) VALUES ('ada', 'Xk7Canary9'), ('bob', 'Xk7Canary9')",
    "INSERT INTO users (name, password) VALUES ('ada', '******'), ('bob', '******')",
  ],
  [
    'insert into "users" ("password", "name") values (\'it\'\'sXk7Canary9\', \'x\')',
    'insert into "users" ("password", "name") values (\'******\', \'x\')',
  ],
  ['{"password" : "Xk7Canary9"}', '{"password" : "******"}'],
  ['{"password":  "Xk7Canary9"}', '{"password":  "******"}'],
  ['{"password"\n:\n"Xk7Canary9"}', '{"password"\n:\n"******"}'],
  ['{"passwords":["Xk7Canary9"]}', '{"passwords":"******"}'],
  ['{"token":1.25e+25,"a":1}', '{"token":"******","a":1}'],
  ['{\\"password\\":\\"Xk7Canary9\\"}', '{\\"password\\":\\"******\\"}'],
  ['{\\\\\\"password\\\\\\":\\\\\\"Xk7Canary9\\\\\\"}', '{\\\\\\"password\\\\\\":\\\\\\"******\\\\\\"}'],
  ["'password' => 'Xk7Canary9'", "'password' => '******'"],
  ['[password] => Xk7Canary9', '[password] => ******'],
  ['password => Xk7Canary9', 'password => ******'],
  ['<password>Xk7Canary9</password>', '<password>******</password>'],
  ['<ns:password a="b">Xk7Canary9</ns:password>', '<ns:password a="b">******</ns:password>'],
  ['<password><![CDATA[Xk7Canary9]]></password>', '<password>******</password>'],
  ['<param name="apiKey">Xk7Canary9</param>', '<param name="apiKey">******</param>'],
  ['<add key="password" value="Xk7Canary9"/>', '<add key="password" value="******"/>'],
  [
    '<input type="password" name="password" value="Xk7Canary9">',
    '<input type="password" name="password" value="******">',
  ],
  ['<secrets><a>Xk7Canary9</a></secrets>', '<secrets>******</secrets>'],
  ['x-api-key: Xk7Canary9', 'x-api-key: ******'],
  ['X-Auth-Token: Xk7Canary9', 'X-Auth-Token: ******'],
  ['Token Xk7Canary9', 'Token ******'],
  ['sent Authorization: Token Xk7Canary9', 'sent Authorization: ******'],
  ['Digest username="a", realm="b", response="Xk7Canary9"', 'Digest ******'],
  ['Authorization: Digest username="a", response="Xk7Canary9"', 'Authorization: ******'],
  ['NTLM TlRMTVNTXk7Canary9==', 'NTLM ******'],
  ['Negotiate YIIXk7Canary9==', 'Negotiate ******'],
  ['curl -u a:Xk7Canary9 http://h/', 'curl -u ****** http://h/'],
  ["curl --user 'a:Xk7Canary9' http://h/", "curl --user '******' http://h/"],
  ['mysql -uroot -pXk7Canary9 db', 'mysql -uroot -p****** db'],
  ['mysqldump --password=Xk7Canary9', 'mysqldump --password=******'],
  ['--password Xk7Canary9', '--password ******'],
  ['sshpass -p Xk7Canary9 ssh h', 'sshpass -p ****** ssh h'],
  ['redis-cli -h x -a Xk7Canary9', 'redis-cli -h x -a ******'],
  ['u:Xk7Canary9@host', '******@host'],
  ['connect to ada:Xk7Canary9@db.example:5432/x', 'connect to ******@db.example:5432/x'],
  ["postgres://u:p'Xk7Canary9@host/db", 'postgres://******@host/db'],
  ['postgres://u:p"Xk7Canary9@host/db', 'postgres://******@host/db'],
  ['postgres://u:p<Xk7Canary9@host/db', 'postgres://******@host/db'],
  ['postgres://u:Xk7Canary9@host/db?a=b+c', 'postgres://******@host/db?a=b+c'],
  ['postgres://u:p Xk7Canary9@host/db', 'postgres://******@host/db'],
  ['postgres://:Xk7Canary9@host/db', 'postgres://******@host/db'],
  ['password=a&Xk7Canary9', 'password=******'],
  ['password=correct horse Xk7Canary9', 'password=******'],
  ['password: correct horse Xk7Canary9', 'password: ******'],
  ['PASSWORD = correct horse Xk7Canary9\nNEXT=1', 'PASSWORD = ******\nNEXT=1'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIXk7Canary9\nabc\n-----END RSA PRIVATE KEY-----', '******'],
  ['-----BEGIN OPENSSH PRIVATE KEY-----\\nMIIXk7Canary9\\nabc', '******'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.Xk7Canary9', '******'],
  ['got eyJhbGciOiJIUzI1NiJ9.Xk7Canary9.x here', 'got ****** here'],
  ['https://hooks.slack.com/services/T000/B000/Xk7Canary9', 'https://hooks.slack.com/services/******'],
  [
    'https://api.telegram.org/bot123456789:AAEXk7Canary9abcdefghijklmnopqrstuvw/send',
    'https://api.telegram.org/bot******/send',
  ],
  ['https://discord.com/api/webhooks/123/Xk7Canary9', 'https://discord.com/api/webhooks/******'],
  [
    'mutation { login(user: "ada", password: "Xk7Canary9") { token } }',
    'mutation { login(user: "ada", password: "******") { token } }',
  ],
  ['{"name":"password","value":"Xk7Canary9"}', '{"name":"password","value":"******"}'],
  ['{name:"password",value:"Xk7Canary9"}', '{name:"password",value:"******"}'],
  ['{"value":"Xk7Canary9","name":"password"}', '{"value":"******","name":"password"}'],
  [
    '[{"key":"apiKey","value":"Xk7Canary9"},{"key":"a","value":"b"}]',
    '[{"key":"apiKey","value":"******"},{"key":"a","value":"b"}]',
  ],
  ['user: ada\npassword: Xk7Canary9\n', 'user: ada\npassword: ******\n'],
  ['[db]\npassword = Xk7Canary9\nhost = x', '[db]\npassword = ******\nhost = x'],
  ['db:\n  password: |\n    line\n    Xk7Canary9\n  x: y', 'db:\n  password: |\n    ******\n  x: y'],
  ['passwords:\n  - Xk7Canary9\n  - Xk7Canary9\nx: y', 'passwords:\n  - ******\nx: y'],
  ['password:\n  Xk7Canary9', 'password:\n  ******'],
  ['run --db-password hunter -v', 'run --db-password ****** -v'],
  ['Postgres://ada:hunter@db/x', 'Postgres://******@db/x'],
  ['a: no key, got "x"\ntoken: no key, got "hunter"', 'a: no key, got "x"\ntoken: no key, got "******"'],
  [
    'token: no key, got "hunter"\npassword: no key, got "hunter"',
    'token: no key, got "******"\npassword: no key, got "******"',
  ],
  ['/x?p%61ssword=Xk7Canary9', '/x?p%61ssword=******'],
  ['/x?token=Xk7Canary9&draft', '/x?token=******&draft'],
  ['secrets:\n  github: Xk7Canary9\n  x: Xk7Canary9\nother: 1', 'secrets:\n  ******\nother: 1'],
  ['password: "Xk7Canary9"', 'password: "******"'],
  ["password: 'Xk7Canary9'", "password: '******'"],
  ['<cfg><db password="Xk7Canary9"/></cfg>', '<cfg><db password="******"/></cfg>'],
  ['Server=a;User Id=b;Password=correct horse Xk7Canary9;Port=1', 'Server=a;User Id=b;Password=******;Port=1'],
  ['Password=Xk7Canary9;Port=1', 'Password=******;Port=1'],
  ['Password = Xk7Canary9; Port = 1', 'Password = ******; Port = 1'],
  ['sid=a; token=b Xk7Canary9', 'sid=******; token=******'],
  ['?filter=%7B%22password%22%3A%22Xk7Canary9%22%7D', '?filter=%7B%22password%22%3A%22******%22%7D'],
  ['/x?h=Bearer%20Xk7Canary9', '/x?h=Bearer%20******'],
  ['/x?h=Bearer+Xk7Canary9', '/x?h=Bearer%20******'],
  ['it was h=Bearer+Xk7Canary9', 'it was h=Bearer%20******'],
  ['a password=Xk7Canary9<br>x', 'a password=******<br>x'],
  ["/x?password=hun'Xk7Canary9", '/x?password=******'],
  ['/x?password=hun"Xk7Canary9', '/x?password=******'],
  ['/x?password=hun<Xk7Canary9', '/x?password=******'],
  ['/x?password=hun`Xk7Canary9', '/x?password=******'],
  ['?next=%252Fcb%253Ftoken%253DXk7Canary9', '?next=%252Fcb%253Ftoken%253D******'],
  ['?next=%2Fcb%3Ftoken%3DXk7Canary9', '?next=%2Fcb%3Ftoken%3D******'],
  ['https://h/?q=%7B%22password%22%3A%22Xk7Canary9%22%7D&x=1', 'https://h/?q=%7B%22password%22%3A%22******%22%7D&x=1'],
  ['token%3dXk7Canary9', 'token%3d******'],
  ['token%253DXk7Canary9', 'token%253D******'],
  ["curl -H 'X-Api-Key: Xk7Canary9' http://h/", "curl -H 'X-Api-Key: ******' http://h/"],
  ['curl -H "Authorization: Bearer Xk7Canary9" http://h', 'curl -H "Authorization: ******" http://h'],
  ['> x-api-key: Xk7Canary9\n> host: x', '> x-api-key: ******\n> host: x'],
  ['Cookie: a=b; c=Xk7Canary9', 'Cookie: ******'],
  ['Set-Cookie: sid=Xk7Canary9; Path=/', 'Set-Cookie: ******'],
  ['"set-cookie": ["a=Xk7Canary9"]', '"set-cookie": "******"'],
  ["password: b'Xk7Canary9'", "password: b'******'"],
  ["password=N'Xk7Canary9'", "password=N'******'"],
  ['password := "Xk7Canary9"', 'password := "******"'],
  ["password == 'Xk7Canary9'", "password == '******'"],
  ["password !== 'Xk7Canary9'", "password !== '******'"],
  ['const password = "Xk7Canary9";', 'const password = "******";'],
  ["password ||= 'Xk7Canary9'", "password ||= '******'"],
  ["SET PASSWORD = PASSWORD('Xk7Canary9')", "SET PASSWORD = PASSWORD('******')"],
  ["UPDATE u SET password = MD5('Xk7Canary9') WHERE id = 1", "UPDATE u SET password = MD5('******') WHERE id = 1"],
  ["IDENTIFIED BY 'Xk7Canary9'", "IDENTIFIED BY '******'"],
  ["ALTER USER ada WITH PASSWORD 'Xk7Canary9'", "ALTER USER ada WITH PASSWORD '******'"],
  ['{ password: `Xk7Canary9` }', '{ password: `******` }'],
  ['{"log":"password: Xk7Canary9\\nuser: ada"}', '{"log":"password: ******\\nuser: ada"}'],
  ['password:Xk7Canary9', 'password:******'],
  ['{password:Xk7Canary9,user:x}', '{password:******,user:x}'],
  ['the password "Xk7Canary9" is wrong', 'the password "******" is wrong'],
  ['Invalid password: Xk7Canary9', 'Invalid password: ******'],
  ['login failed (password: Xk7Canary9)', 'login failed (password: ******)'],
  ['login failed, password=Xk7Canary9, user=x', 'login failed, password=****** user=x'],
  ["'password': u'Xk7Canary9'", "'password': u'******'"],
  ['%28password%3DXk7Canary9%29', '%28password%3D******'],
  ['env APP_SECRET=Xk7Canary9 node x', 'env APP_SECRET=****** node x'],
  ['export API_KEY=Xk7Canary9', 'export API_KEY=******'],
  ['docker run -e DB_PASSWORD=Xk7Canary9 x', 'docker run -e DB_PASSWORD=****** x'],
  ['Set-Cookie: sid=Xk7Canary9', 'Set-Cookie: ******'],
  ['{"headers":{"authorization":"Bearer Xk7Canary9"}}', '{"headers":{"authorization":"******"}}'],
  ["headers: { authorization: 'Bearer Xk7Canary9' }", "headers: { authorization: '******' }"],
  ['code=x&SAMLResponse=Xk7Canary9', 'code=x&SAMLResponse=******'],
  ['hmac=Xk7Canary9', 'hmac=******'],
  ['пароль: Xk7Canary9', 'пароль: ******'],
  ['contraseña=Xk7Canary9', 'contraseña=******'],
  ['"Passwort": "Xk7Canary9"', '"Passwort": "******"'],
  ['user[password]=Xk7Canary9', 'user[password]=******'],
  ['user%5Bpassword%5D=Xk7Canary9', 'user%5Bpassword%5D=******'],
  ["$password = 'Xk7Canary9'", "$password = '******'"],
  [':password => "Xk7Canary9"', ':password => "******"'],
  ['@password = "Xk7Canary9"', '@password = "******"'],
  ["process.env.API_KEY = 'Xk7Canary9'", "process.env.API_KEY = '******'"],
  ['"db.password" : "Xk7Canary9"', '"db.password" : "******"'],
  ['db.password=Xk7Canary9', 'db.password=******'],
  ['spring.datasource.password: Xk7Canary9', 'spring.datasource.password: ******'],
  ['PGPASSWORD=Xk7Canary9 psql', 'PGPASSWORD=******'],
  ['password:\tXk7Canary9', 'password:\t******'],
]

/** Ends that are not where they should be, and more in one. */
const odd: readonly (readonly [text: string, masked: string])[] = [
  ['{ name: "apiKey", value: "Xk7Canary9" }', '{ name: "apiKey", value: "******" }'],
  ['{\\"pin\\":\\"Xk7Canary9" and more', '{\\"pin\\":\\"******" and more'],
  ['{\\"keys\\":[\\"Xk7]Canary9\\"],\\"a\\":1}', '{\\"keys\\":\\"******\\",\\"a\\":1}'],
  ['pin:\n  Xk7Canary9\r\n  Xk7Canary9\r b', 'pin:\n  ******'],
  ['pin:\r  Xk7Canary9\r\n', 'pin:\r  ******\r\n'],
  ["INSERT INTO a (b, pin) VALUES (N'x', E'Xk7Canary9')", "INSERT INTO a (b, pin) VALUES (N'x', E'******')"],
  ['name= , pin=Xk7Canary9', 'name= , pin=******'],
  ['<password>Xk7Canary9</b>', '<password>******</b>'],
  [`<password>${'Xk7Canary9'.repeat(250)}</b>`, '<password>******</b>'],
  ['key: "a", value: "Xk7Canary9", name: "apiKey"', 'key: "a", value: "******", name: "apiKey"'],
]

/** A `code` alone is one of an error. */
/** Codes of errors, whose messages are readable. */
const messages: readonly string[] = [
  'Uncaught SESSION_STORE_UNREACHABLE: "The session store is not available." at a.ts:1',
  'SESSION_STATELESS: Session was used while the request was declared stateless.',
  'SESSION_TOO_LARGE: The session has 5000 bytes.',
  'Uncaught ERR_TLS_CERT_ALTNAME_INVALID: "Hostname/IP does not match"',
  'ERR_JWT_EXPIRED: jwt expired',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED: signature verification failed',
  '{"message":"Uncaught TOKEN_REVOKED: \\"This token is revoked.\\""}',
]

/** Names of secrets, and codes with a secret instead of a message. */
const noMessages: readonly string[] = [
  'SESSION_SECRET: "Xk7Canary9"',
  'SESSION_SECRET: "the Xk7Canary9 is it"',
  'API_TOKEN: "the words are Xk7Canary9"',
  'TOKEN_INVALID: Xk7Canary9',
  'TOKEN_INVALID: "Xk7Canary9 is the token"',
  'TOKEN_REJECTED: "the Xk7Canary9"',
  'TOKEN_EXPIRED: "correct horse battery Xk7Canary9"',
  'TOKEN_EXPIRED="the token is Xk7Canary9"',
  '{"TOKEN_EXPIRED":"the token is Xk7Canary9"}',
  'PASSPHRASE_INVALID: "all that about Xk7Canary9"',
  'WALLET_SEED: "all that about Xk7Canary9"',
  'token_invalid: "the token is Xk7Canary9"',
]

const codes = ['GET /cb?code=Xk7Canary9&state=1 failed', 'GET /cb?state=1&code=Xk7Canary9']

const rest = 'Xk7Canary9abcdefghij0123456789Xk7Canary9'

/** What the tokens of known providers begin with. */
const prefixes = (
  'ghp_ gho_ ghs_ ghu_ ghr_ github_pat_ glpat- sk_live_ sk_test_ rk_live_ whsec_ sk- sk-proj- sk-ant- xoxb- xoxp- xoxa- AIza ya29. ' +
  'GOCSPX- npm_ pypi- SG.aaaaaaaaaaaaaaaa. hf_ dckr_pat_ hvs. sntrys_ lin_api_ tskey- ATATT3 gsk_'
).split(' ')

/** What looks alike, and is none. */
const ordinary: readonly string[] = [
  'Unrecognized key: "price"',
  'session_id: Unrecognized key: "id"',
  'Unrecognized keys: "price", "id"',
  'No route found for "GET http://localhost:8000/@user/a?page=2&empty=&token="',
  'Invalid CSRF token: the form has expired.',
  'Basic authentication, then a Bearer token.',
  'at f (file:///app/node_modules/.pnpm/a@1.0.0/x.js:1:2)',
  'http://[::1]:8000/@x and http://host//a',
  '{"token":"","password":null,"a":{"b":1}}',
  'Invalid cookie: the name is empty',
  'a == b, c => d',
  '?to=http%3A%2F%2Fhost%2F%40user&mail=a%40b',
  'AuthenticationError: wrong place',
  'TokenExpiredError: jwt expired',
  'The password is required.',
  'password: must have at least 8 characters',
  'password: required',
  'Password is too short',
  'Unexpected token } in JSON at position 5',
  'Unexpected token \'h\', "hello" is not valid JSON',
  "SyntaxError: Unexpected token ':'",
  'Unknown key: name',
  'Duplicate key: user',
  'at Session.start (/app/lib/session/session.ts:12:5)',
  'lib/session/session-cookie.ts:120',
  'password.ts:12 and reset-password.mjs:3',
  '    at async authenticate (file:///srv/auth/token.js:3:9)',
  'tokens.every(token => token.isValid)',
  'keys.map(key => key.length)',
  'const token = await getToken()',
  'token = createToken(request)',
  'password: string',
  'token: string | undefined',
  'Session: started',
  'auth:login',
  'session:start was dispatched',
  'redis-session:6379 is down',
  'connect ECONNREFUSED auth.internal:5432',
  'https://auth.example.com:8443/login',
  'keyboard: qwerty',
  'tokens: 512',
  'Loaded 3 keys: a, b',
  'mail ada@example.com now',
  'mailto:ada@example.com',
  'npm:lodash@4.17.21',
  'git@github.com:foo/bar.git',
  'pkg@1.2.3:latest',
  '12:30:45 user@host',
  'Usage: login <password> [options]',
  '<Token> is not a component',
  'Basic usage: see below',
  'Digest of the news',
  'Token expired',
  'the token is expired',
  'The key is sha256 hashed',
  'secret is base64-encoded',
  'Bearer of bad news',
  'docker run -u 1000:1000 image',
  'mkdir -p /tmp/x',
  'ssh -p 22 host',
  'key-value store',
  'sk-spinner-double-bounce',
  'SELECT id, name FROM users WHERE name = $1',
  "INSERT INTO users (name, mail) VALUES ('ada', 'x')",
  'WHERE password IS NULL',
  'WHERE token = $1',
  'path: /a/b',
  'pattern: abc',
  'hash: abc',
  'code: ENOENT',
  "ENOENT: no such file or directory, open '/srv/app/x'",
  'Matched route "login".',
  'primary key: id',
  'foreign key (user_id)',
  'content-type: text/html',
  'Expected a token but got "x"',
  'max-age=60, private',
  'cache-control: private, max-age=60',
  "style-src 'self' 'nonce-x'",
  '{"id":1,"name":"password","label":"Password"}',
  'isAuthenticated: true',
  'hasSession: false',
  '{ session: undefined, token: null }',
  'cookies: {}',
  'crypt: { }',
  "import { x } from 'node:crypto'",
  'node:crypto',
  'encryption: none',
  'session ended: no requests',
  'Time: 12:30',
  'http://localhost:8000/a:b@c',
  'a:b',
  'user:profile',
  'email: please enter one',
  'The session is started by session-listener.ts:68',
  'text/html, application/xhtml+xml;q=0.9',
  "Cannot read properties of undefined (reading 'token')",
  'token is not defined',
  'password does not match',
  'api: v2',
  'salt & pepper: a story',
  "Content-Security-Policy: default-src 'self'",
  '{"type":"password"}',
  '<input type="password" name="x">',
  'Certificate: it has expired',
  'TOKEN=',
  'key=',
  "password: ''",
  'password=""',
]

t.test('secrets are masked in every known form', async t => {
  for (const [text, masked] of [...secrets, ...odd]) {
    t.notMatch(masked, /Xk7Canary9/i, text)
    t.equal(maskText(text), masked)
    t.equal(maskText(masked), masked, 'again')
  }
})

t.test('the code of an error is no name of a secret, and a secret is masked behind any code', async t => {
  for (const text of messages) t.equal(maskText(text), text)
  for (const text of noMessages) t.notMatch(maskText(text), 'Xk7Canary9', text)
})

t.test('URLs within queries are decoded three times, within a text', async t => {
  const nest = (depth: number, url: string): string =>
    depth === 0 ? url : nest(depth - 1, `/?a=${encodeURIComponent(url)}`)
  const json = '/?b={"password":"Xk7Canary9"}'
  for (const depth of [1, 2, 3]) t.notMatch(maskText(`see ${nest(depth, json)} there`), /Xk7Canary9/)
  t.type(maskText(`see ${nest(9, json)} there`), 'string')
})

t.test('the code of OAuth is masked beside its state', async t => {
  for (const text of codes) t.equal(maskText(text), text.replace('Xk7Canary9', '******'))
  t.equal(maskText('GET /x?code=ENOENT&a=1 failed'), 'GET /x?code=ENOENT&a=1 failed')
})

t.test('tokens of known providers are masked, whatever they are called', async t => {
  for (const prefix of prefixes) {
    t.equal(maskText(`the ${prefix}${rest} was used`), 'the ****** was used')
    t.equal(maskText(`/?q=a%3D${prefix}${rest}`), '/?q=a%3D******')
  }
  const digits = '0123456789abcdef'.repeat(2)
  for (const token of [
    `AKIA${rest.toUpperCase()}`,
    `key-${digits}`,
    `dop_v1_${digits}`,
    `shpat_${digits}`,
    `12345678:${'a'.repeat(35)}`,
  ]) {
    t.equal(maskText(`(${token})`), '(******)')
  }
})

t.test('values of rows in messages of databases have no secrets', async t => {
  const cases: [text: string, masked: string][] = [
    ['Key (email)=(x@y.z) already exists.', 'Key (email)=(******) already exists.'],
    [
      'Key (id, api_key)=(1, a)b) is not present in table "t".',
      'Key (id, api_key)=(******) is not present in table "t".',
    ],
    ['Key (lower(password::text))=(hunter2) conflicts with', 'Key (lower(password::text))=(******) conflicts with'],
    ['a Key (token)=(hunter2', 'a Key (token)=(******'],
    ['Key (token)=() already exists.', 'Key (token)=() already exists.'],
    ['Key (id)=(7) already exists, Key (pin)=(7).', 'Key (id)=(7) already exists, Key (pin)=(******).'],
    ['Failing row contains (1, ada, hunter2, (x)).', 'Failing row contains (******).'],
    ['Failing row contains (1, a\nb), hunter2).\nnext (a)', 'Failing row contains (******).\nnext (a)'],
    ['Failing row contains (1, hunter2', 'Failing row contains (******'],
    ["portal with parameters: $1 = 'hunter2', $2 = 'it''s'", "portal with parameters: $1 = '******', $2 = '******'"],
    ["Duplicate entry 'x@y.z' for key 'users.email_unique'", "Duplicate entry '******' for key 'users.email_unique'"],
    ["Duplicate entry '7' for key 'users.PRIMARY' of email", "Duplicate entry '7' for key 'users.PRIMARY' of email"],
    ['Key (email', 'Key (email'],
    ['Key ()=(email) is', 'Key ()=(email) is'],
    ['Key (token)=(a) is\nb) is duplicated.', 'Key (token)=(******) is duplicated.'],
    ['Key (token)=(Key (pin)=(7) is duplicated.', 'Key (token)=(******) is duplicated.'],
  ]
  for (const [text, masked] of cases) {
    t.equal(maskText(text), masked)
    t.equal(maskText(masked), masked)
  }
})

t.test('objects that util.inspect and assert have written have no secrets', async t => {
  const config = {
    user: 'ada',
    password: "it's Xk7Canary9",
    long: { apiKey: `${'a'.repeat(60)}\nXk7Canary9\n${'Xk7Canary9'.repeat(9)}` },
    tokens: new Set(['Xk7Canary9']),
    secret: new Map([['a', Buffer.from('Xk7Canary9')]]),
  }
  for (const options of [{}, { compact: false }, { compact: 9, breakLength: 999 }, { depth: 0 }]) {
    const masked = maskText(inspect(config, options))
    t.notMatch(masked, /Xk7Canary9|58 6b 37/)
    t.match(masked, "user: 'ada'")
  }
  const short = { user: 'ada', password: "it's Xk7Canary9", tokens: [1, 'Xk7Canary9'] }
  const { message } = t.throws(() => assert.deepStrictEqual(short, { ...short, password: 'Xk7Canary9, too' })) as Error
  t.match(message, 'Xk7Canary9')
  t.notMatch(maskText(message), /Xk7Canary9/)
})

t.test('ordinary texts stay as they are', async t => {
  for (const text of ordinary) t.equal(maskText(text), text)
})

t.test('the work grows as the text does: names are looked up once for each separator, within bounds', async t => {
  const count = (text: string) => {
    let names = 0
    maskText(text, name => {
      names++
      if (name.length > 100) t.fail('a long name')
      return isSecretName(name)
    })
    return names
  }
  for (const piece of pieces) {
    const [once, twice] = [2000, 4000].map(length => count(piece.repeat(length / piece.length)))
    t.ok(Number(twice) <= 2 * Number(once) + 20, `${JSON.stringify(piece)}: ${once}, ${twice}`)
  }
})

t.test('wrong escapes before a name hide no secret, and thousands of them throw no exceptions', async t => {
  const wrong = ['%', '%FF', '%C3', '%E0%80', '%25FF'].map(escaped => `/?a=1&${escaped}%26%70assword=Xk7Canary9`)
  t.strictSame(
    wrong.filter(text => maskText(text, isSecretName).includes('Xk7')),
    [],
  )
  const { decodeURIComponent: decode } = globalThis
  t.teardown(() => Object.assign(globalThis, { decodeURIComponent: decode }))
  let exceptions = 0
  globalThis.decodeURIComponent = text => {
    try {
      return decode(text)
    } catch (error) {
      exceptions++
      throw error
    }
  }
  for (const escaped of ['%25', '%2525', '%70%FF', '%25%32%35'])
    maskText(`/${`${escaped}:`.repeat(1000)}`, isSecretName)
  t.ok(exceptions < 20, `${exceptions} exceptions`)
})

const masker = { text: (text: string) => maskText(text), isSecret: isSecretName }

t.test('markup: fields, cells and terms with secret names are masked', async t => {
  for (const [given, masked] of [
    ['<input value="x" type=password id=a>', '<input value="******" type=password id=a>'],
    ["<INPUT value='x' name='user[password]'/>", '<INPUT value="******" name=\'user[password]\'/>'],
    ['<meta content=x name=csrf-token>', '<meta content="******" name=csrf-token>'],
    ['<input name=token value="">', '<input name=token value="">'],
    ['<input name=q value="session">', '<input name=q value="session">'],
    ['<meta name=author content=Ada>', '<meta name=author content=Ada>'],
    ['<th>API key:</th> <td class="a">x</td>', '<th>API key:</th> <td class="a">******</td>'],
    ['<dt>Password</dt><dd>x</dd>', '<dt>Password</dt><dd>******</dd>'],
    ['<dt>Author</dt><dd>x</dd>', '<dt>Author</dt><dd>x</dd>'],
    ['<a href="?a=1&#38;token=x&#38;b=&#x110000;">', '<a href="?a=1&#38;token=******&#38;b=&#38;#x110000;">'],
    [
      '<p>{&quot;token&QUOT;:&quot;x&quot;}, it&apos;s &lt;</p>',
      '<p>{&#34;token&#34;:&#34;******&#34;}, it&#39;s &#60;</p>',
    ],
    ['<p>&#x110000; &amp; api_k&#101;y=x</p>', '<p>&#38;#x110000; &#38; api_key=******</p>'],
    ['<p>1 &amp; 2 &eacute;</p>', '<p>1 &amp; 2 &eacute;</p>'],
    ['<label>Password</label><input>', '<label>Password</label><input>'],
    [
      '<tr><td>1</td><td>Password </td>\n<td>x</td><td>y</td></tr>',
      '<tr><td>1</td><td>Password </td>\n<td>******</td><td>y</td></tr>',
    ],
    ['<dt>Token</dt>\n<dd><p><code class="a">x</code>', '<dt>Token</dt>\n<dd><p><code class="a">******</code>'],
    [`<td>API key</td><td>${'x'.repeat(3000)}`, '<td>API key</td><td>******'],
    [`<input name=token type="hidden" value="${'x'.repeat(3000)}">`, '<input name=token type="hidden" value="******">'],
    ['<textarea rows=2 name="api_key">\n x</textarea>', '<textarea rows=2 name="api_key">******</textarea>'],
    ['<string name="api_key">x</string>', '<string name="api_key">******</string>'],
    ['<textarea name="token"> </textarea>', '<textarea name="token"> </textarea>'],
    ['<input type=password> Show', '<input type=password> Show'],
    // A text about an input is kept if all of its words are those of such texts.
    [
      '<p id="api-key-error">must be valid, with 16 characters',
      '<p id="api-key-error">must be valid, with 16 characters',
    ],
    [
      '<p id="password-error">Please enter your password.</p>',
      '<p id="password-error">Please enter your password.</p>',
    ],
    ['<p id="password-error">must not be hunter</p>', '<p id="password-error">******</p>'],
    ['<p id="password-error">1234 is invalid</p>', '<p id="password-error">******</p>'],
    ['<p id="password">must be valid</p>', '<p id="password">******</p>'],
    [
      '<textarea class="is-invalid" name="token">must be valid</textarea>',
      '<textarea class="is-invalid" name="token">******</textarea>',
    ],
  ] as const) {
    t.equal(maskMarkup(given, masker), masked)
  }
})

t.test('messages of databases keep the names of objects and the parts of a statement', async t => {
  const shape = 'SELECT nope FROM users WHERE id = ?'
  const kept = [
    `Unknown column 'nope' in 'field list'`,
    `Unknown column 'other' in 'WHERE'`,
    `Unknown column 'other' in 'GROUP BY'`,
    `Field 'other' doesn't have a default value`,
    `Invalid object name 'dbo.other'`,
    `Can't DROP 'other'; check that it exists`,
    `ORA-00904: "NOPE": invalid identifier`,
    'column "other" of relation "users" does not exist',
  ]
  t.strictSame(
    kept.map(text => maskQuotedValues(text, shape)),
    kept,
  )
  t.equal(maskQuotedValues(`Incorrect value 'hunter' here`, shape), `Incorrect value '******' here`)
})

t.test('settings, counts and dates under names made from the name of a secret are not secret by name', async t => {
  const shown = 'session_theme token_count email_verified password_changed_at cookie_consent apiKeyCreatedAt'.split(' ')
  t.strictSame(shown.filter(isSecretName), [])
  const secret = 'session_id reset_token password_reset_token api_key email_token tokens new_password keyId'.split(' ')
  t.strictSame(secret.filter(isSecretName), secret)
})
