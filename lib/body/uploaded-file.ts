import { copyFile } from 'node:fs/promises'

/** A file that came in a form: its content lies in a temporary file until the request is over. */
export class UploadedFile {
  /** As the client named it: text to show, never a path to use. */
  readonly name: string
  /** The content type that the client claims. */
  readonly type: string
  /** In bytes. */
  readonly size: number
  /** Where the content lies until the request is over. */
  readonly path: string

  constructor(file: { readonly name: string; readonly type: string; readonly size: number; readonly path: string }) {
    this.name = file.name
    this.type = file.type
    this.size = file.size
    this.path = file.path
  }

  /** Keeps the content under a path of the application's choice; an existing file is replaced. */
  async saveAs(path: string): Promise<void> {
    await copyFile(this.path, path)
  }
}
