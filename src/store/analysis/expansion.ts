import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { prepareReading } from './reading.ts'

/** What a round of an expansion cost, and what it brought. */
export interface BroughtRound {
  readonly round: number
  readonly queries: number
  readonly open: number
  readonly answers: number
  readonly failed: number
  readonly unaffordable: number
  readonly credits_used: number
  readonly new_pages: number
  readonly new_domains: number
  readonly new_pages_per_answer: number | null
  readonly new_domains_per_answer: number | null
  readonly new_pages_per_credit: number | null
  readonly new_domains_per_credit: number | null
}

/** The rounds of a list that took related searches, from answers of an origin. */
export async function readBrought(
  db: Database,
  { list, origin }: { readonly list: string; readonly origin: string },
): Promise<readonly BroughtRound[]> {
  return db.transaction().execute(async (trx) => {
    await prepareReading(trx, { origins: origin })
    const { rows } = await sql<BroughtRound>`
      select
        round, queries, open, answers, failed, unaffordable, credits_used, new_pages, new_domains,
        new_pages_per_answer, new_domains_per_answer, new_pages_per_credit, new_domains_per_credit
      from analysis.expansion_rounds
      where list = ${list}
      order by round`.execute(trx)
    return rows
  })
}

/** A round of a list that took related searches, with the list. */
export interface FrontierRound extends Pick<
  BroughtRound,
  'round' | 'answers' | 'credits_used' | 'new_pages' | 'new_domains'
> {
  readonly list: string
  readonly pages: number
  readonly domains: number
}

/** Every round that was answered, of all lists, from answers of the kinds that are shown. */
export async function readFrontierRounds(db: Database): Promise<readonly FrontierRound[]> {
  const { rows } = await sql<FrontierRound>`
    select list, round, answers, credits_used, pages, new_pages, domains, new_domains
    from analysis.expansion_rounds
    where answers > 0
    order by list, round`.execute(db)
  return rows
}
