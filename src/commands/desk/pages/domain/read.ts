import {
  readDomainDays,
  readKnownDomain,
  type DomainDay,
  type KnownDomain,
} from '../../../../store/analysis/domain-days.ts'
import {
  readDomainFlows,
  readDomainMoves,
  readDomainPages,
  readRivals,
  type DomainFlow,
  type DomainMove,
  type DomainPage,
  type Rival,
} from '../../../../store/analysis/domain-moves.ts'
import { readNotes, type Note } from '../../../../store/analysis/notes.ts'
import {
  fromFirstAnswers,
  readSpan,
  type AskedSpan,
  type ReadSpan,
} from '../../../../store/analysis/span.ts'
import type { Database } from '../../../../store/database.ts'
import { NotThere } from '../../address.ts'

export interface DomainFound {
  readonly known: KnownDomain
  readonly span: ReadSpan
  /** The two days between which moves are told. */
  readonly compared: ReadSpan
  readonly days: readonly DomainDay[]
  readonly notes: readonly Note[]
  readonly moves: readonly DomainMove[]
  readonly flows: readonly DomainFlow[]
  readonly pages: readonly DomainPage[]
  readonly rivals: readonly Rival[]
}

/** Reads all that the page of a domain shows. */
export async function readDomainPage(
  db: Database,
  asked: { readonly domain: string; readonly span: AskedSpan },
): Promise<DomainFound> {
  const known = await expectDomain(db, asked.domain)
  const span = await readSpan(db, asked.span)
  const of = { domain: known.domain, ...span }
  const notes = await readNotes(db, '*')
  const compared = await fromFirstAnswers(db, span)
  return {
    known,
    span,
    days: await readDomainDays(db, of),
    notes: notes.filter(({ date }) => date >= span.since && date <= span.until),
    compared,
    moves: await readDomainMoves(db, { ...of, ...compared }),
    flows: await readDomainFlows(db, { ...of, ...compared }),
    pages: await readDomainPages(db, of),
    rivals: await readRivals(db, of),
  }
}

async function expectDomain(db: Database, domain: string): Promise<KnownDomain> {
  const known = await readKnownDomain(db, domain)
  if (known !== null) return known
  throw new NotThere(
    `No answer ever showed ${JSON.stringify(domain.slice(0, 80))}, and it is not ours.`,
  )
}
