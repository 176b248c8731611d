/** The known editors and the patterns of their links. */
const presets: ReadonlyMap<string, string> = new Map(
  Object.entries({
    vscode: 'vscode://file{file}:{line}:{column}',
    cursor: 'cursor://file{file}:{line}:{column}',
    idea: 'idea://open?file={file}&line={line}&column={column}',
    jetbrains: 'idea://open?file={file}&line={line}&column={column}',
    phpstorm: 'phpstorm://open?file={file}&line={line}&column={column}',
    webstorm: 'webstorm://open?file={file}&line={line}&column={column}',
    vim: 'mvim://open?url=file://{file}&line={line}&column={column}',
    mvim: 'mvim://open?url=file://{file}&line={line}&column={column}',
  }),
)

/** The schemes of links that could run code. */
const harmfulSchemes: readonly string[] = ['javascript', 'data', 'vbscript', 'blob', 'filesystem']

/** The path of a folder for the process, and for the editor. */
export interface PathMapping {
  readonly from: string
  readonly to: string
}

/** Returns the pattern of links (`{file}`, `{line}`, `{column}`) for the name of an editor, or the text itself. */
export function parseEditorUrl(text: string): string {
  return presets.get(text.toLowerCase()) ?? text
}

/** Whether a text is empty, the name of a known editor, or a pattern of links with a harmless scheme. */
export function isEditorUrl(text: string): boolean {
  const pattern = parseEditorUrl(text)
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(pattern)?.[1]?.toLowerCase()
  const isHarmless = scheme !== undefined && !harmfulSchemes.includes(scheme)
  return text === '' || (isHarmless && pattern.includes('{file}') && !/\s/.test(pattern))
}

/** Parses a mapping such as `/srv/app=/home/me/app`; `undefined` for any other text. */
export function parsePathMapping(text: string): PathMapping | undefined {
  const [, from, to] = /^([^=]*[^=/])\/*=([^=]*[^=/])\/*$/.exec(text) ?? []
  return from === undefined || to === undefined ? undefined : { from, to }
}

/** The names of the known editors. */
export const editorNames: readonly string[] = [...presets.keys()]
