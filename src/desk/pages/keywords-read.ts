// Reads the keyword table: filtered, sorted and paged by the database.

import type { Database } from '../../base/database/database.ts'
import {
  type AliasedExpression,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  sql,
  type SqlBool,
} from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { daysBefore } from '../address.ts'

/** A day with keywords, either stored or computed from the day's answers. */
interface KeywordDay {
  readonly day: string
  /** Id in `finished_days`; null if nothing is stored for the day. */
  readonly finish: number | null
  /** Id of the stored version, used for caching the day's figures. */
  readonly stored: number | null
}

/** Two days to compare, and the stored days up to the later day, newest first. */
export interface KeywordDays {
  readonly now: KeywordDay
  readonly before: KeywordDay
  readonly stored: readonly KeywordDay[]
}

/**
 * Chooses the days to compare: by default, the newest stored day and the last earlier day with a run. If a given
 * day has no run, the last earlier day with a run is used. Returns null if there are no runs.
 */
export async function chooseDays(
  db: Database,
  { day, since }: { readonly day: string | null; readonly since: string | null },
): Promise<KeywordDays | null> {
  // A page reads about 100,000 narrow rows, which is too few for parallel workers to save time.
  await sql`set local max_parallel_workers_per_gather = 0`.execute(db)
  const all = await readStoredDays(db)
  const now = day === null && all[0] !== undefined ? all[0] : await lastRunDay(db, all, day)
  if (now === null) return null
  const stored = all.filter((one) => one.day <= now.day)
  const before = await lastRunDay(db, all, since ?? daysBefore(now.day, 1))
  return { now, before: before ?? now, stored }
}

async function lastRunDay(
  db: Database,
  stored: readonly KeywordDay[],
  upTo: string | null,
): Promise<KeywordDay | null> {
  const { day } = await db
    .selectFrom('runs')
    .select(({ fn }) => fn.max('run_date').as('day'))
    .where('run_date', '<=', (eb) =>
      eb.fn.coalesce(
        eb.cast<string>(eb.val(upTo), 'date'),
        eb.fn('analysis.newest_day'),
        eb.val('infinity'),
      ),
    )
    .executeTakeFirstOrThrow()
  if (day === null) return null
  return stored.find((one) => one.day === day) ?? { day, finish: null, stored: null }
}

export async function readKeywordNames(db: Database) {
  const lists = await db.selectFrom('lists').select('name').orderBy('name').limit(200).execute()
  const named = db.selectFrom('rival_domains').select('domain').distinct()
  const rivals = await named.orderBy('domain').execute()
  const ours = await db.selectFrom('own_domains').select('domain').limit(1).execute()
  return {
    lists: lists.map(({ name }) => name),
    rivals: rivals.map(({ domain }) => domain),
    ours: ours.length > 0,
  }
}

export interface KeywordQuery {
  readonly word: string | null
  /** Tags such as `device=mobile`. A keyword must have all of these tags. */
  readonly labels: readonly string[]
  readonly ranks: (typeof rankRanges)[number] | null
  readonly change: (typeof changes)[number] | null
  readonly feature: string | null
  readonly rival: string | null
  readonly sort: (typeof sorts)[number]
  readonly descending: boolean
}

export const rankRanges = ['1-3', '4-10', '11-20', '21+', 'none'] as const
export const changes = ['up', 'down', 'entered', 'left', 'same', 'any'] as const
export const sorts = ['volume', 'rank', 'change', 'keyword'] as const

type KeywordRow = Awaited<ReturnType<typeof readKeywords>>[number]

export type Keyword = Awaited<ReturnType<typeof readKeywordDetails>>[number]

type StoredKeyword = Omit<DB['finished_keywords'], 'finish_id' | 'fetched_at' | 'origin' | 'api'>

/** Days whose keywords are stored with the current settings, newest first. */
function readStoredDays(db: Database): Promise<readonly KeywordDay[]> {
  const basis = (name: 'analysis.basis' | 'analysis.keyword_basis') =>
    db.selectNoFrom(({ fn }) => fn<string>(name).as('basis'))
  return db
    .selectFrom('finished_days as days')
    .innerJoin('finished_keyword_days as kept', 'kept.finish_id', 'days.id')
    .select(['days.run_date as day', 'days.id as finish', 'kept.id as stored'])
    .where('days.made_at', 'is not', null)
    .where('days.basis', '=', basis('analysis.basis'))
    .where('kept.basis', '=', basis('analysis.keyword_basis'))
    .orderBy('day', 'desc')
    .execute()
}

function keywordsOf<Name extends string>(
  db: Database,
  { day, finish }: KeywordDay,
  name: Name,
): AliasedExpression<StoredKeyword, Name> {
  if (finish === null) return sql<StoredKeyword>`analysis.keywords_on(${day}::date)`.as(name)
  return db
    .selectFrom('finished_keywords')
    .select(['query_id', 'run_date', 'search_id', 'depth', 'weight', 'labels', 'features'])
    .select(['domain', 'position', 'page_id', 'rivals'])
    .where('finish_id', '=', finish)
    .as(name)
}

function compareKeywords(db: Database, { now, before }: Pick<KeywordDays, 'now' | 'before'>) {
  return db
    .selectFrom(keywordsOf(db, now, 'now'))
    .leftJoin(keywordsOf(db, before, 'before'), 'before.query_id', 'now.query_id')
    .leftJoin('queries', 'queries.id', 'now.query_id')
}

type Sides = DB & { now: StoredKeyword; before: StoredKeyword }
type SidesBuilder = ExpressionBuilder<Sides, 'now' | 'before' | 'queries'>

/** A domain is known to have left or entered only if the other answer was deep enough to show the domain's position. */
function changeOf(eb: SidesBuilder) {
  const isGone = (side: 'now' | 'before', other: 'now' | 'before') =>
    eb.and([
      eb(`${side}.position`, 'is', null),
      eb(`${side}.depth`, '>=', eb.ref(`${other}.position`)),
    ])
  return eb
    .case()
    .when('before.search_id', 'is', null)
    .then(null)
    .when('now.position', '=', eb.ref('before.position'))
    .then(sql.lit('same'))
    .when('now.position', '<', eb.ref('before.position'))
    .then(sql.lit('up'))
    .when('now.position', '>', eb.ref('before.position'))
    .then(sql.lit('down'))
    .when(isGone('now', 'before'))
    .then(sql.lit('left'))
    .when(isGone('before', 'now'))
    .then(sql.lit('entered'))
    .end()
}

const bounds = { '1-3': [1, 3], '4-10': [4, 10], '11-20': [11, 20], '21+': [21, 2 ** 40] } as const

function holds(eb: SidesBuilder, query: KeywordQuery): Expression<SqlBool> {
  const { word, labels, ranks, change, feature, rival } = query
  // `strpos` is used rather than `ilike`, because a percent sign is an ordinary character in a keyword.
  const found = eb.fn<number>('strpos', [
    eb.fn('lower', ['queries.q']),
    eb.fn('lower', [eb.cast<string>(eb.val(word), 'text')]),
  ])
  return eb.and([
    ...(word === null ? [] : [eb(found, '>', 0)]),
    ...(labels.length === 0 ? [] : [eb('now.labels', '@>', eb.val([...labels]))]),
    ...(feature === null ? [] : [eb('now.features', '@>', eb.val([feature]))]),
    ...(rival === null ? [] : [eb('now.rivals', '@>', eb.val([rival]))]),
    ...(ranks === null ? [] : [ranksIn(eb, ranks)]),
    ...(change === null
      ? []
      : [eb(changeOf(eb), change === 'any' ? '<>' : '=', change === 'any' ? 'same' : change)]),
  ])
}

function ranksIn(eb: SidesBuilder, range: (typeof rankRanges)[number]): Expression<SqlBool> {
  if (range === 'none') return eb('now.position', 'is', null)
  return eb.between('now.position', bounds[range][0], bounds[range][1])
}

/** Gain in positions. An unknown position counts as the position just below the answer's depth. */
function gainOf(eb: SidesBuilder) {
  const at = (side: 'now' | 'before') =>
    eb.fn.coalesce(`${side}.position`, eb(`${side}.depth`, '+', 1))
  return eb(at('before'), '-', at('now'))
}

export async function countKeywords(db: Database, days: KeywordDays, query: KeywordQuery) {
  const { count } = await compareKeywords(db, days)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where((eb) => holds(eb, query))
    .executeTakeFirstOrThrow()
  return count
}

/** Reads the sorted keywords in a view. Without a limit, reads all keywords. */
export async function readKeywords(
  db: Database,
  days: KeywordDays,
  { limit, offset, ...query }: KeywordQuery & { readonly limit?: number; readonly offset?: number },
) {
  const direction = query.descending ? 'desc' : 'asc'
  return compareKeywords(db, days)
    .select((eb) => [
      'now.query_id as id',
      'now.position as rank',
      'before.position as previous',
      changeOf(eb).as('change'),
      'now.depth',
      'now.weight',
      'now.labels',
      'now.features',
      'now.page_id as page',
      'now.run_date as runDate',
      // With a word or change filter, a separate count would be expensive, so the rows are counted here.
      (query.word === null && query.change === null
        ? eb.lit(null).$castTo<number | null>()
        : eb.fn.countAll<number>().over()
      ).as('count'),
    ])
    .where((eb) => holds(eb, query))
    .orderBy(
      (eb) => {
        if (query.sort === 'volume') return eb.ref('now.weight')
        if (query.sort === 'keyword') return eb.ref('queries.q')
        if (query.sort === 'rank') return eb.ref('now.position')
        return eb.case().when(changeOf(eb), 'is not', null).then(gainOf(eb)).end()
      },
      (order) => {
        const ordered = order[direction]()
        return query.sort === 'rank' || query.sort === 'change' ? ordered.nullsLast() : ordered
      },
    )
    .orderBy('now.query_id')
    .$if(limit !== undefined, (rows) => rows.limit(limit ?? 0))
    .offset(offset ?? 0)
    .execute()
}

function anyOf<T extends number | string>(values: readonly T[]) {
  const eb = expressionBuilder<DB>()
  return eb.fn.any(eb.val(values))
}

export async function readKeywordDetails(
  db: Database,
  rows: readonly KeywordRow[],
  history: readonly KeywordDay[],
) {
  const ids = anyOf(rows.map(({ id }) => id))
  const facts = await db
    .selectFrom('queries')
    .leftJoin('list_queries', 'list_queries.query_id', 'queries.id')
    .select(['queries.id', 'q', 'device', 'gl'])
    .select(({ fn }) => fn.max('list_queries.weight').as('volume'))
    .where('queries.id', '=', ids)
    .groupBy('queries.id')
    .execute()
  const pages = await db
    .selectFrom('pages')
    .select(['id', 'url_key'])
    .where('id', '=', anyOf(rows.flatMap(({ page }) => page ?? [])))
    .execute()
  const days = history.flatMap(({ finish }) => finish ?? [])
  const earlier = (count: number) => {
    const last = history[0] === undefined ? '' : daysBefore(history[0].day, count)
    return history.find(({ day }) => day <= last)?.finish
  }
  const [dayBefore, weekBefore] = [earlier(1), earlier(7)]
  const ranks = await db
    .selectFrom('finished_keywords')
    .select(['finish_id', 'query_id', 'position'])
    .where('finish_id', '=', anyOf(days))
    .where('query_id', '=', ids)
    .where('search_id', 'is not', null)
    .execute()
  const factOf = new Map(facts.map((fact) => [fact.id, fact]))
  const urlOf = new Map(pages.map((page) => [page.id, page.url_key]))
  const rankOf = new Map(ranks.map((rank) => [`${rank.finish_id} ${rank.query_id}`, rank.position]))
  return rows.map((row) => {
    const { q = '', device = null, gl: country = null, volume = null } = factOf.get(row.id) ?? {}
    return {
      ...row,
      ...{ q, device, country, volume },
      url: urlOf.get(row.page ?? '') ?? null,
      // The keyword's ranks, oldest day first; undefined for days without a known rank.
      history: days.map((day) => rankOf.get(`${day} ${row.id}`)).toReversed(),
      // Ranks a day and a week earlier, or on the last stored day before that.
      dayBefore: rankOf.get(`${dayBefore} ${row.id}`),
      weekBefore: rankOf.get(`${weekBefore} ${row.id}`),
    }
  })
}

export async function readKeywordCounts(db: Database, days: KeywordDays) {
  return compareKeywords(db, days)
    .select((eb) => [
      eb.fn.countAll<number>().as('keywords'),
      eb.fn.count<number>('now.search_id').as('answered'),
      ...(['up', 'down', 'entered', 'left'] as const).map((name) =>
        eb.fn.countAll<number>().filterWhere(changeOf(eb), '=', name).as(name),
      ),
      ...rankRanges.map((range) =>
        eb.fn.countAll<number>().filterWhere(ranksIn(eb, range)).as(range),
      ),
    ])
    .executeTakeFirstOrThrow()
}

export type Gain = Awaited<ReturnType<typeof readGains>>[number]

/** Reads the keywords or pages that won or lost the most clicks, according to weights and the click curve. */
export async function readGains(
  db: Database,
  days: KeywordDays,
  { what, won, limit }: { what: 'keyword' | 'page'; won: boolean; limit: number },
) {
  const curve = sql<{ position: number; ctr: number }>`analysis.ctr`
  const moves = compareKeywords(db, days)
    .leftJoin(curve.as('curve'), 'curve.position', 'now.position')
    .leftJoin(curve.as('earlier'), 'earlier.position', 'before.position')
    .leftJoin('pages', (join) =>
      join.on((eb) => eb('pages.id', '=', eb.fn.coalesce('now.page_id', 'before.page_id'))),
    )
    .select([
      what === 'page' ? 'pages.id' : 'now.query_id as id',
      what === 'page' ? 'pages.url_key as name' : 'queries.q as name',
      'before.position as previous',
      'now.position as rank',
      sql<number>`now.weight * (coalesce(curve.ctr, 0) - coalesce(earlier.ctr, 0))`.as('clicks'),
    ])
    .where((eb) => eb(changeOf(eb), '<>', 'same'))
  return db
    .selectFrom(moves.as('moves'))
    .select(['id', 'name'])
    .select(({ fn }) => [
      fn.min('previous').as('previous'),
      fn.min('rank').as('rank'),
      fn.sum<number>('clicks').as('clicks'),
      fn.countAll<number>().as('keywords'),
    ])
    .groupBy(['id', 'name'])
    .having(({ fn }) => fn.sum('clicks'), won ? '>' : '<', 0)
    .orderBy('clicks', won ? 'desc' : 'asc')
    .orderBy('name')
    .limit(limit)
    .execute()
}
