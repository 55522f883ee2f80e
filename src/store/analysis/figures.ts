import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { readBalance, readFloor, type BalancePoint } from './balance.ts'
import { readNotes, type Note } from './notes.ts'
import {
  leading,
  readMoves,
  readRanks,
  readShares,
  readSuspects,
  readThinDays,
  readVariants,
} from './ranks.ts'
import type { Move, RankPoint, SharePoint, SuspectRun, Variant } from './ranks.ts'

/** What became of one run. */
export interface RunFigures {
  readonly run: number
  readonly list: string
  readonly runDate: string
  readonly kind: string
  readonly state: string
  readonly tasks: number
  readonly answered: number
  readonly reused: number
  readonly failed: number
  readonly unknown: number
  readonly left: number
  readonly credits: number
}

/** Everything that the page of pictures shows. */
export interface Figures {
  readonly origins: readonly string[]
  readonly tag: string
  /** The newest full day. */
  readonly day: string | null
  /** False: no query has an answer before that of this day, so nothing can have moved. */
  readonly compared: boolean
  /** Days too thin to stand beside the others: they are in no line. */
  readonly thin: readonly string[]
  /** Runs that are left out since they cannot be believed. */
  readonly suspect: readonly SuspectRun[]
  readonly queries: number
  readonly answers: number
  readonly credits: number
  readonly floor: number | null
  readonly domains: readonly { readonly domain: string; readonly label: string }[]
  readonly runs: readonly RunFigures[]
  readonly balance: readonly BalancePoint[]
  readonly shares: readonly SharePoint[]
  readonly ranks: readonly RankPoint[]
  readonly variants: readonly Variant[]
  readonly moves: readonly Move[]
  readonly notes: readonly Note[]
}

export interface FigureOptions {
  readonly origins: string | undefined
  readonly tag: string
  /** Empty: ours, or the greatest ones where we have none. */
  readonly domains: readonly string[]
  /** The day that decides which domains are ours. */
  readonly today: string
}

/** Reads the figures of the page in one view of the tables: numbers on one page must fit together. */
export async function readFigures(db: Database, options: FigureOptions): Promise<Figures> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (trx) => {
      await sql`select set_config('jit', 'off', true), set_config('work_mem', '64MB', true)`.execute(
        trx,
      )
      if (options.origins !== undefined) {
        await sql`select set_config('querymill.origins', ${options.origins}, true)`.execute(trx)
      }
      const summary = await readSummary(trx)
      const shown = await readShares(trx, options.tag)
      const domains = await chooseDomains(trx, options, shown)
      const names = domains.map(({ domain }) => domain)
      const ranks = await readRanks(trx, names)
      const texts = ranks.map(({ q }) => q)
      return {
        ...summary,
        thin: await readThinDays(trx),
        suspect: await readSuspects(trx),
        floor: await readFloor(trx),
        tag: options.tag,
        domains,
        runs: await readRuns(trx),
        balance: await readBalance(trx),
        shares: leading(shown, names),
        ranks,
        variants: await readVariants(trx, texts),
        moves: await readMoves(trx, names, summary.day),
        notes: await readNotes(trx, options.tag),
      }
    })
}

async function readSummary(trx: Database) {
  const { rows } = await sql<
    Pick<Figures, 'origins' | 'day' | 'compared' | 'queries' | 'answers' | 'credits'>
  >`
    select
      analysis.origins() as origins,
      newest.day,
      exists (
        select from analysis.steps_on(newest.day) as steps where steps.previous_search_id is not null
      ) as compared,
      (select count(*) from analysis.latest) as queries,
      (select count(*) from searches where origin = any ((select analysis.origins())::text[])) as answers,
      (select coalesce(sum(credits_used), 0) from searches
        where origin = any ((select analysis.origins())::text[])) as credits
    from (select analysis.newest_day() as day) as newest
  `.execute(trx)
  const [summary] = rows
  if (summary === undefined) throw new Error('expected a row, got none')
  return summary
}

async function readRuns(trx: Database): Promise<readonly RunFigures[]> {
  const { rows } = await sql<RunFigures>`
    select
      runs.id as run, lists.name as list, runs.run_date as "runDate", runs.kind, runs.state, runs.spent as credits,
      count(tasks.id) as tasks,
      count(*) filter (where tasks.state = 'answered') as answered,
      count(*) filter (where tasks.state = 'reused') as reused,
      count(*) filter (where tasks.state = 'failed') as failed,
      count(*) filter (where tasks.state = 'unknown') as unknown,
      count(*) filter (where tasks.state in ('open', 'unaffordable', 'cancelled')) as left
    from (select * from runs order by id desc limit 30) as runs
    join lists on lists.id = runs.list_id
    left join tasks on tasks.run_id = runs.id
    group by runs.id, lists.name, runs.run_date, runs.kind, runs.state, runs.spent
    order by runs.id desc
  `.execute(trx)
  return rows
}

/** How many domains the page has room for. */
export const mostDomains = 3

async function chooseDomains(
  trx: Database,
  { domains: asked, today }: FigureOptions,
  shares: readonly SharePoint[],
): Promise<Figures['domains']> {
  const { rows } = await sql<{ domain: string; label: string; ours: boolean }>`
    select distinct on (domain)
      domain, label,
      (since is null or since <= ${today}::date) and (until is null or until >= ${today}::date) as ours
    from own_domains
    order by domain, ours desc, since desc nulls last
  `.execute(trx)
  // A domain that is asked for has its label even after its last day.
  const labels = new Map(rows.map(({ domain, label }) => [domain, label]))
  const ours = rows.filter((row) => row.ours).map(({ domain }) => domain)
  const last = shares.at(-1)?.runDate
  const greatest = shares.filter(({ runDate }) => runDate === last).map(({ domain }) => domain)
  const named = [asked, ours, greatest].find((names) => names.length > 0) ?? []
  return named
    .slice(0, mostDomains)
    .map((domain) => ({ domain, label: labels.get(domain) ?? domain }))
}

/** The labels that lists give, or gave, to their queries. */
export async function readLabels(db: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ label: string }>`
    select distinct unnest(tags) as label
    from (
      select tags from list_queries
      union
      select tags from list_query_history
    ) as given
    order by label
  `.execute(db)
  return rows.map(({ label }) => label)
}
