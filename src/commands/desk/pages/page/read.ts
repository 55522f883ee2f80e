import { groupBy } from '../../../../shared/group.ts'
import type { DomainDay } from '../../../../store/analysis/domain-days.ts'
import { readPageHoldings } from '../../../../store/analysis/page-holdings.ts'
import { readNotesBetween, type Note } from '../../../../store/analysis/notes.ts'
import {
  readNewestAnswers,
  readPageDays,
  readPageFacts,
  type NewestAnswer,
  type PageDay,
  type PageFacts,
} from '../../../../store/analysis/page-days.ts'
import { readSuspects, type SuspectRun } from '../../../../store/analysis/ranks.ts'
import { readPageMoves, type PageMove } from '../../../../store/analysis/page-moves.ts'
import {
  fromFirstAnswers,
  readSpan,
  type AskedSpan,
  type ReadSpan,
} from '../../../../store/analysis/span.ts'
import type { Database } from '../../../../store/database.ts'
import { NotThere } from '../../address.ts'

export interface PageFound {
  readonly page: PageFacts
  readonly span: ReadSpan
  /** The two days between which moves are told. */
  readonly compared: ReadSpan
  readonly days: readonly PageDay[]
  readonly newest: readonly NewestAnswer[]
  readonly held: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
  readonly moves: readonly PageMove[]
}

/** Reads all that the page of a page shows. */
export async function readPagePage(
  db: Database,
  asked: { readonly id: string; readonly span: AskedSpan },
): Promise<PageFound> {
  const page = await readPageFacts(db, asked.id)
  if (page === null) throw new NotThere('There is no such page in any answer.')
  const span = await readSpan(db, asked.span)
  const compared = await fromFirstAnswers(db, span)
  const days = await readPageDays(db, { key: page.key, ...span })
  const last = [...groupBy(days, ({ queryId }) => queryId).values()].flatMap((own) =>
    own.slice(0, 1),
  )
  return {
    page,
    span,
    compared,
    days,
    newest: await readNewestAnswers(db, last, span),
    held: await readPageHoldings(db, { key: page.key, ...span }),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
    moves: await readPageMoves(db, { key: page.key, ...compared }),
  }
}
