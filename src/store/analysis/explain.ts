import pg from 'pg'
import { Misuse } from '../../shared/errors.ts'
import { withheld } from './readable.ts'

const timedOut = '57014'
const notAllowed = '42501'

/** What an analyst typed wrong is no bug of ours: one line, with the server's own hint. */
export function explain(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const hint = error.hint === undefined ? '' : `; ${error.hint}`
  if (error.code === timedOut) {
    return new Misuse('expected an answer within the time limit, got none; give --timeout more', {
      cause: error,
    })
  }
  if (error.code === notAllowed) return refuse(error)
  return new Misuse(
    `expected a question that the database can answer, got: ${error.message}${hint}`,
    {
      cause: error,
    },
  )
}

function refuse(error: pg.DatabaseError): Misuse {
  // The server's words are in its own language, the name is in ours.
  const kept = withheld.find((name) => new RegExp(`\\b${name}\\b`).test(error.message))
  const got =
    kept === undefined
      ? error.message
      : `${kept}, a table of the mill's own bookkeeping, which is neither shown nor exported`
  return new Misuse(
    `expected views of analysts or tables of answers, lists and runs, got: ${got}; docs/schema.md says what may be read`,
    { cause: error },
  )
}
