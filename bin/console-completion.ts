import { type CommandOption, type ConsoleCommand, exitCodes, type Suggestions } from '../kernel/console-command.ts'

/** Creates the command that prints the completion script of a shell. */
export function createCompletionCommand(write: (text: string) => unknown): ConsoleCommand {
  return {
    name: 'completion',
    description: 'Prints a script with which a shell completes command lines',
    arguments: [{ name: 'shell', description: 'the shell', choices: ['bash', 'zsh'] }],
    examples: [
      {
        line: 'completion bash > ~/.local/share/bash-completion/completions/console',
        purpose: 'for bash, permanently',
      },
      { line: 'completion zsh', purpose: 'for zsh: eval "$(bin/console completion zsh)" in ~/.zshrc' },
    ],
    run({ arguments: { shell } }) {
      write(shell === 'zsh' ? zsh : bash)
      return exitCodes.success
    },
  }
}

/** Lists the words that can complete the last one. */
export async function suggestWords(
  commands: readonly ConsoleCommand[],
  words: readonly string[],
): Promise<Suggestions> {
  const begun = words.at(-1) ?? ''
  const found = await findWords(commands, words)
  return found.filter(([word]) => word.startsWith(begun)).map(([word, text]) => [word, text.replace(/\s+/g, ' ')])
}

const commonOptions: readonly CommandOption[] = [
  { name: 'json', description: 'prints the result as JSON' },
  { name: 'md', description: 'prints the result as Markdown' },
  { name: 'env', description: 'the environment to run in', value: 'name', choices: ['dev', 'prod', 'test'] },
  { name: 'help', description: 'shows the help of the command' },
]

async function findWords(commands: readonly ConsoleCommand[], words: readonly string[]): Promise<Suggestions> {
  if (words.length < 2) return commands.map(({ description, name }) => [name, description])
  const command = commands.find(({ name }) => name === words[0])
  if (command === undefined) return []
  const options = [...(command.options ?? []), ...commonOptions]
  const before = words.at(-2)
  const waiting = options.find(({ name, value }) => value !== undefined && before === `--${name}`)
  if (waiting !== undefined) return wordsFor(waiting)
  if (words.at(-1)?.startsWith('-')) return options.map(({ description, name }) => [`--${name}`, description])
  const position = countArguments(words.slice(1, -1), options)
  const argument = command.arguments?.[position]
  return argument === undefined ? [] : wordsFor(argument)
}

async function wordsFor({ choices, suggest }: Pick<CommandOption, 'choices' | 'suggest'>): Promise<Suggestions> {
  return choices?.map(word => [word, ''] as const) ?? (await suggest?.()) ?? []
}

/** Counts the words that are neither options nor values of options. */
function countArguments(words: readonly string[], options: readonly CommandOption[]): number {
  const takesNext = (word: string | undefined) =>
    options.some(({ name, value }) => value !== undefined && word === `--${name}`)
  return words.filter((word, index) => !word.startsWith('-') && !takesNext(words[index - 1])).length
}

/** For bash a colon separates words: only the part after the last colon may be replaced. */
const bash = `_sinfonietta_console() {
  local line="\${COMP_LINE:0:COMP_POINT}" words word
  read -ra words <<< "$line"
  [[ "$line" == *' ' ]] && words+=('')
  word="\${words[-1]}"
  COMPREPLY=()
  local candidate colons="\${word%"\${word##*:}"}"
  while IFS=$'\\t' read -r candidate _; do
    COMPREPLY+=("\${candidate#"$colons"}")
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _sinfonietta_console bin/console ./bin/console console
`

const zsh = `#compdef console bin/console ./bin/console
_sinfonietta_console() {
  local -a candidates
  local word description
  while IFS=$'\\t' read -r word description; do
    candidates+=("\${word//:/\\\\:}:\${description}")
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe 'console' candidates
}
compdef _sinfonietta_console console bin/console ./bin/console
`
