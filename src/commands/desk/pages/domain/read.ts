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
  type DomainPage,
  type PlaceMove,
  type Rival,
} from '../../../../store/analysis/domain-moves.ts'
import { readNotesBetween, type Note } from '../../../../store/analysis/notes.ts'
import { readSuspects, type SuspectRun } from '../../../../store/analysis/ranks.ts'
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
  readonly suspect: readonly SuspectRun[]
  readonly moves: readonly PlaceMove[]
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
  return readDomain(db, known, {
    span,
    compared: await fromFirstAnswers(db, span),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
  })
}

/** What is the same for every domain that is told of the same days. */
type DomainDays = Pick<DomainFound, 'span' | 'compared' | 'notes' | 'suspect'>

/** Reads all that is told of a domain in some days, be it in some answer or in none. */
export async function readDomain(
  db: Database,
  known: KnownDomain,
  told: DomainDays,
): Promise<DomainFound> {
  const { span, compared } = told
  const of = { domain: known.domain, ...span }
  return {
    ...told,
    known,
    days: await readDomainDays(db, of),
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
    `No answer ever showed ${JSON.stringify(domain.slice(0, 80))}, and it is neither ours nor a rival's.`,
  )
}
