import type { UploadedFile } from './uploaded-file.ts'

/** The fields of a form in the order in which they were sent: text, or an uploaded file. Words are those of the Fetch API. */
export class FormData implements Iterable<[string, string | UploadedFile]> {
  readonly #fields: [string, string | UploadedFile][] = []

  append(name: string, value: string | UploadedFile): void {
    this.#fields.push([name, value])
  }

  /** The first value of a name; `null` when there is none. */
  get(name: string): string | UploadedFile | null {
    return this.getAll(name)[0] ?? null
  }

  getAll(name: string): (string | UploadedFile)[] {
    return this.#fields.filter(([other]) => other === name).map(([, value]) => value)
  }

  has(name: string): boolean {
    return this.#fields.some(([other]) => other === name)
  }

  [Symbol.iterator](): Iterator<[string, string | UploadedFile]> {
    return this.#fields[Symbol.iterator]()
  }
}
