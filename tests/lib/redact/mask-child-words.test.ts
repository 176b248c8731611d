import { t } from 'tap'
import { describeError, flattenError } from '#lib/errors/flat-error.ts'
import { maskChildWords } from '#lib/redact/mask-child-words.ts'
import { maskLinks } from '#lib/redact/mask-text.ts'
import { Redactor } from '#lib/redact/redactor.ts'

/** `§` stands for the secret, which may be a plain word. */
const commands = [
  'openssl passwd -6 §',
  'openssl passwd -1 -salt xy §',
  '/usr/bin/htpasswd -nb user §',
  'mkpasswd -m sha-512 §',
  'bcrypt §',
  'mongosh -u a -p §',
  'unzip -P § a.zip',
  'plink -pw § h',
  'vault login §',
  'vault kv put secret/x value=§',
  'kubectl create secret generic x --from-literal=a=§',
  'gh secret set X --body §',
  'wrangler secret put §',
  'rabbitmqctl add_user u §',
  'rabbitmqctl change_password u §',
  'redis-cli AUTH §',
  'redis-cli CONFIG SET requirepass §',
  'npm config set //r/:_authToken §',
  'nmcli dev wifi connect x password §',
  'pdftk a.pdf input_pw § output b.pdf',
  'ansible-vault encrypt_string §',
  'echo § | sudo -S ls',
  'true; printf %s § | docker login --password-stdin',
  'cat <<< §',
]
/** In any place a secret that looks random is one. */
const random = [
  'mongo -p§',
  '7z a -p§ x.7z',
  'sqlcmd -P§',
  'smbclient -U u%§ //h/s',
  'lftp -u u,§ h',
  'mc alias set m KEY §',
]

t.test('a word of the command of a child process that may be a secret is masked', async t => {
  const shown = (command: string, secret: string) =>
    maskChildWords(command.replaceAll('§', secret).split(' ')).join(' ').includes(secret)
  t.strictSame(
    [
      ...commands.filter(command => shown(command, 'sunflower')),
      ...[...commands, ...random].filter(command => shown(command, 'aB3dE5fG')),
    ],
    [],
  )
})

t.test('ordinary words stay', async t => {
  const ordinary = [
    'convert a.png -resize 50% b.png',
    'git push origin main',
    'git log -1 --format=%H',
    'npm run build',
    'ffmpeg -i in.mp4 -s 640x480 -b:v 1M out.webm',
    'tar -czf backup.tar.gz /var/data',
    'docker run --rm -p 80:80 nginx',
    'mkdir -p dist/assets',
    'ps aux | grep node',
    'echo hello',
    'bcrypt x; convert a b',
  ]
  t.strictSame(
    ordinary.map(command => maskChildWords(command.split(' ')).join(' ')),
    [...ordinary.slice(0, -1), 'bcrypt x; convert a b'],
  )
})

t.test('the error of a child process has them neither in its message nor in its properties', async t => {
  // As Node makes it for `execFile`.
  const cmd = 'sh -c echo bad $0 >&2; exit 3 aB3dE5fG x'
  const error = Object.assign(new Error(`Command failed: ${cmd}\nbad aB3dE5fG\n`), { cmd, stderr: 'bad aB3dE5fG\n' })
  const redactor = new Redactor()
  const mask = (text: string) => redactor.text(text)
  const { message } = flattenError(error, { hasFrames: false })
  t.match(message, /^Command failed: sh -c echo bad .* \*{6} x/)
  t.notMatch(JSON.stringify([describeError(error, mask), redactor.value('', error), message]), 'aB3dE5fG')
})

t.test('the parts of a link in a mail that look random are masked', async t => {
  t.equal(
    maskLinks(
      'https://a.test/r?t=aB3dE5fG&amp;id=7#aB3dE5fG, https://a.test/u/aB3dE5fG/stop, app://x/aB3dE5fG, https://a.test/help?page=2',
    ),
    'https://a.test/r?t=******&amp;id=7#******, https://a.test/u/******/stop, app://x/******, https://a.test/help?page=2',
  )
})
