import { asInteger, type Bundle, EventStream, headerValue, Response } from 'sinfonietta'
import { SharedBoard } from './shared-board.ts'

/** The table of the notes: a migration. */
export const notesTable = 'CREATE TABLE notes (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL)'

/** Shows new notes in the browsers of all workers. */
export function createSharedBoardBundle(url: string): Bundle {
  let board: SharedBoard | undefined
  return {
    name: 'shared-board',
    register({ logger, routes }) {
      const opened = new SharedBoard(url, logger)
      board = opened
      const lastId = headerValue('last-event-id', asInteger, 0)
      routes.get('shared_board_events', '/shared-board/events', { lastId }, ({ lastId }, request) => {
        return new EventStream(request, stream =>
          opened.subscribe(lastId, note => stream.send({ event: 'note', id: note.id, data: note })),
        )
      })
      routes.post('shared_board_add', '/shared-board', async request => {
        await opened.add(await request.text())
        return Response.empty()
      })
    },
    close: () => board?.close(),
  }
}
