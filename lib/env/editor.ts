/** The editors that are known by name, and how their links read. */
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

/** What a link could do harm with, when it is followed. */
const harmfulSchemes: readonly string[] = ['javascript', 'data', 'vbscript', 'blob', 'filesystem']

/** A folder as the process sees it, and as the editor does. */
export interface PathMapping {
  readonly from: string
  readonly to: string
}

/** The pattern of links that open a file, with `{file}`, `{line}` and `{column}`: that of a known editor, or one's own. */
export function parseEditorUrl(text: string): string {
  return presets.get(text.toLowerCase()) ?? text
}

/** Whether a text is empty, the name of a known editor, or a pattern of links with a scheme that does no harm. */
export function isEditorUrl(text: string): boolean {
  const pattern = parseEditorUrl(text)
  const scheme = /^([a-z][a-z\d+.-]*):/i.exec(pattern)?.[1]?.toLowerCase()
  const isHarmless = scheme !== undefined && !harmfulSchemes.includes(scheme)
  return text === '' || (isHarmless && pattern.includes('{file}') && !/\s/.test(pattern))
}

/** Reads `/srv/app=/home/me/app`; `undefined` when it is nothing like that. */
export function parsePathMapping(text: string): PathMapping | undefined {
  const [, from, to] = /^([^=]*[^=/])\/*=([^=]*[^=/])\/*$/.exec(text) ?? []
  return from === undefined || to === undefined ? undefined : { from, to }
}

/** The names of the known editors. */
export const editorNames: readonly string[] = [...presets.keys()]
