import { access, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { UploadedFile } from 'sinfonietta'

/** The photos of the tools: one file for each, named by the id of the tool and never by the name that a client sends. */
export class Photos {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** The file of a photo, which need not exist. */
  fileOf(tool: number): string {
    return path.join(this.#directory, `${tool}.jpg`)
  }

  async has(tool: number): Promise<boolean> {
    return access(this.fileOf(tool)).then(
      () => true,
      () => false,
    )
  }

  async keep(tool: number, file: UploadedFile): Promise<void> {
    await file.saveAs(this.fileOf(tool))
  }

  async remove(tool: number): Promise<void> {
    await rm(this.fileOf(tool), { force: true })
  }
}

/** Whether the content of a file begins as that of a JPEG. The type that a client sends proves nothing. */
export async function isPhoto(file: UploadedFile): Promise<boolean> {
  const handle = await open(file.path)
  try {
    const { buffer } = await handle.read(Buffer.alloc(3), 0, 3, 0)
    return buffer.toString('hex') === 'ffd8ff'
  } finally {
    await handle.close()
  }
}
