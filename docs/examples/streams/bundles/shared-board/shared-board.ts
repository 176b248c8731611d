import { Pool } from 'pg'
import type { Logger } from 'sinfonietta'
import type { Note } from '../board/board.ts'
import { listen } from './listen.ts'

/** A client that gets notes, and the last one that it has. */
interface Reader {
  lastId: number
  readonly send: (note: Note) => void
}

/** A board in PostgreSQL, for all workers of all machines. */
export class SharedBoard {
  readonly #pool: Pool
  readonly #logger: Logger
  readonly #readers = new Set<Reader>()
  readonly #stopListening: () => Promise<void>
  #isReading = false
  /** Whether there may be notes that were not read. */
  #isStale = false

  constructor(url: string, logger: Logger) {
    this.#pool = new Pool({ connectionString: url, keepAlive: true })
    this.#pool.on('error', () => {})
    this.#logger = logger
    this.#stopListening = listen(
      { connectionString: url, application_name: 'shared-board' },
      'notes',
      () => this.#wake(),
      exception => logger.warning('New notes come late: there is no connection.', { exception }),
    )
  }

  /** The notification is sent when the note is stored: in a transaction, by `COMMIT`. */
  async add(text: string): Promise<void> {
    // One after another: a reader that has the note 8 never misses the note 7.
    const statement = `WITH turn AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('notes')))
      INSERT INTO notes (text) SELECT $1 FROM turn RETURNING pg_notify('notes', '')`
    await this.#pool.query(statement, [text])
  }

  /** Sends the notes after an id, at most the last hundred, and each new one, until the returned function is called. */
  subscribe(lastId: number, send: (note: Note) => void): () => void {
    const reader = { lastId, send }
    this.#readers.add(reader)
    this.#wake()
    return () => void this.#readers.delete(reader)
  }

  async close(): Promise<void> {
    await this.#stopListening()
    await this.#pool.end()
  }

  /** Lets new notes be read: once for all readers, and once more for what comes meanwhile. */
  #wake(): void {
    this.#isStale = true
    if (!this.#isReading) void this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    this.#isReading = true
    while (this.#isStale) {
      this.#isStale = false
      await this.#read().catch(exception => this.#logger.warning('No notes were read.', { exception }))
    }
    this.#isReading = false
  }

  async #read(): Promise<void> {
    if (this.#readers.size === 0) return
    const least = Math.min(...[...this.#readers].map(({ lastId }) => lastId))
    const statement = `SELECT id, text FROM
      (SELECT id, text FROM notes WHERE id > $1 ORDER BY id DESC LIMIT 100) AS last ORDER BY id`
    const { rows } = await this.#pool.query<Note>(statement, [least])
    for (const reader of this.#readers) {
      for (const note of rows) {
        if (note.id <= reader.lastId) continue
        reader.lastId = note.id
        reader.send(note)
      }
    }
  }
}
