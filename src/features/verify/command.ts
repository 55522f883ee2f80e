// The verify command: checks all invariants, parses bodies again, and accounts for all credits.

import { isDeepStrictEqual } from 'node:util'
import { type Answer, refusedRows } from '../../base/answer.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { wholeFlag } from '../../base/cli/flags.ts'
import { formatNumber } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import { only } from '../../base/database/sql-file.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { type AnswerRows, type KeptBody, readAnswers } from '../../core/answers/store.ts'
import { openMill } from '../../core/mill.ts'
import { rereadAnswer } from '../../core/search/verdict.ts'
import {
  runChecks,
  type Check,
  checkOf,
  type Conservation,
  conserveCredits,
  countFinishedDays,
  onSnapshot,
} from './verify.ts'

export interface VerifyOptions {
  readonly deep?: true
  readonly maxExternal?: string
  readonly json?: true
}

/** Result of a verification: the checks, and what the database can't prove. */
export interface Verified {
  readonly checks: readonly Check[]
  readonly unproved: readonly string[]
}

const sampleSize = 500
/** Adding up a day again takes as long as storing it. */
const sampleDays = 7

/** Checks the database for rows that violate an invariant: one line per invariant, and the credits of each account. */
export async function verify({ options, env, closers }: Call<VerifyOptions>): Promise<Exit> {
  const most = wholeFlag('max-external', options.maxExternal, 1e15) ?? Infinity
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'verify', reading: true })
  const asked = { zone: config.zone, deep: options.deep === true }
  const { checks, unproved } = await onSnapshot(mill.db, (snapshot) => prove(snapshot, asked))
  const credits = await conserveCredits(mill.db)
  const over = credits.filter(({ unexplained }) => unexplained > most)
  const ok = over.length === 0 && checks.every((check) => check.ok)
  if (options.json === true) printJson({ ok, checks, credits, unproved })
  else {
    for (const { name, violations } of checks) {
      print(violations === 0 ? `ok      ${name}` : `BROKEN  ${name}: ${violations} violations`)
    }
    for (const account of credits) print(creditsLine(account))
    for (const line of unproved) print(`not checked: ${line}`)
  }
  for (const { account, unexplained } of over) {
    say(
      `external spend of ${account}: ${formatNumber(unexplained)} credits, more than --max-external ${options.maxExternal}; npm run statement shows when they were spent`,
    )
  }
  if (ok) say('all checks passed')
  else if (over.length === 0) say('a check failed')
  return ok ? exits.done : exits.failures
}

/** Runs all checks, and parses bodies again: a random sample, or all. */
export async function prove(
  db: Database,
  { zone, deep }: { readonly zone: string; readonly deep: boolean },
): Promise<Verified> {
  const promises = await runChecks(db, { zone, days: deep ? null : sampleDays })
  const { answers: rebuilt, violations } = await rebuildAnswers(db, deep ? null : sampleSize)
  const { answers, bodiless, archived } = await countAnswers(db)
  const unread = answers - bodiless - archived - rebuilt
  const unadded = deep ? 0 : Math.max(0, (await countFinishedDays(db)) - sampleDays)
  return {
    checks: [...promises, checkOf('each answer matches its body', violations)],
    unproved: [
      ...(bodiless > 0
        ? [`what ${bodiless} answers say whose bodies were pruned or forgotten`]
        : []),
      ...(archived > 0
        ? [`what ${archived} answers in the archive say; npm run archive -- --check reads them`]
        : []),
      ...(unread > 0 ? [`what ${unread} answers say that were not drawn; type --deep`] : []),
      ...(unadded > 0
        ? [`what ${unadded} finished days come to that were not drawn; type --deep`]
        : []),
      ...beyondProof,
    ],
  }
}

function creditsLine(account: Conservation): string {
  const { opening, used, unknown, unexplained, added, closing } = account
  const [first, ours, perhaps, external, more, left] = [
    ...[opening, used, unknown, unexplained, added, closing],
  ].map(formatNumber)
  return `credits of ${account.account}: ${first} at first, ${ours} used, ${perhaps} perhaps used by calls with an unknown outcome, ${external} external spend, ${more} added, ${left} left`
}

// Printed every time, so that a clean result is not overestimated.
const beyondProof = [
  'that the API charged what its answers say; its own books would show it',
  'a body that was changed together with its rows, its call and the sums',
  'which lines of a file were duplicates, where one line gave several queries',
  'answers and calls that were removed with everything that names them',
]

/** Result of rebuilding answers from their bodies. */
interface Rebuilt {
  readonly answers: number
  readonly violations: number
}

const batch = 64

/**
 * Parses stored bodies again and compares the results with the rows: a difference means that the rows were changed by
 * other means.
 */
async function rebuildAnswers(db: Database, sample: BodySample): Promise<Rebuilt> {
  let answers = 0
  let violations = 0
  for await (const proofs of readProofs(db, sample, batch)) {
    const ids = proofs.map(({ id }) => id)
    const documents = await readAnswers(db, ids)
    const said = proofs.map((proof) => ({ proof, answer: rereadAnswer(proof) }))
    for (const { proof, answer } of said) {
      const rows = documents.get(proof.id)
      if (rows === undefined || !isSame(answer, rows, proof)) violations += 1
    }
    const pages = pagesOf(said.map(({ answer }) => answer))
    const stored = await readPages(db, ids)
    violations += stored.filter((page) => !isDeepStrictEqual(page, pages.get(page.url))).length
    answers += proofs.length
  }
  return { answers, violations }
}

function isSame(answer: Answer, rows: AnswerRows, figures: AnswerFigures): boolean {
  const { depth, replaced, result_count: results } = figures
  // The rows of this readable answer were rejected, so there is nothing to compare.
  if (rows.parse_error?.startsWith(refusedRows) === true) return rows.organic_results.length === 0
  return (
    depth === answer.depth &&
    replaced === answer.replaced &&
    results === answer.results.length &&
    isDeepStrictEqual(plain(rowsOf(answer, rows.q)), plain(rows))
  )
}

function rowsOf(answer: Answer, q: string): AnswerRows {
  return {
    q,
    parse_error: answer.parseError,
    intent: answer.intent,
    sentiment: answer.sentiment,
    credits_used: answer.creditsUsed,
    credits_remaining: answer.creditsRemaining,
    extra: answer.extra,
    as_given: answer.asGiven,
    organic_results: answer.results.map(({ item }) => ({
      position: item.position,
      title: item.title,
      url: item.page?.url ?? null,
      snippet: item.snippet,
      domain: item.domain?.host ?? null,
      extra: item.extra,
      as_given: item.asGiven,
    })),
    entities: answer.entities.map(({ item: { name, type } }) => ({ name, type })),
    clusters: answer.clusters.map(({ item }) => item.text),
    related_searches: answer.related.map(({ item }) => item.text),
  }
}

/** Normalizes a value as a column would return it: there is no negative zero. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function pagesOf(answers: readonly Answer[]): ReadonlyMap<string, StoredPage> {
  const pages = new Map<string, StoredPage>()
  const found = answers.flatMap(({ results, features }) => [...results, ...features])
  for (const { item } of found) {
    if (item.page === null) continue
    const { url, key, domain } = item.page
    const site = { host: domain?.host ?? null, site: domain?.site ?? null }
    pages.set(url, { url, url_key: key, ...site })
  }
  return pages
}

/** Number of answers parsed again from their bodies; null: all of them. */
type BodySample = number | null

/** Figures of an answer, in addition to its rows. */
interface AnswerFigures {
  readonly depth: number | null
  readonly replaced: number
  readonly result_count: number
}

/** A stored body with the figures of its answer. */
type Proof = Pick<KeptBody, 'id' | 'q' | 'origin' | 'status' | 'truncated' | 'body'> & AnswerFigures

/** A URL with the values derived from it. */
interface StoredPage {
  readonly url: string
  readonly url_key: string
  readonly host: string | null
  readonly site: string | null
}

/** Reads bodies of answers in batches: all of them, or a random sample. */
async function* readProofs(
  db: Database,
  sample: BodySample,
  size: number,
): AsyncGenerator<readonly Proof[]> {
  const drawn = sample === null ? null : await draw(db, sample)
  for (let after = 0; ;) {
    const { rows } = await sql<Proof>`
      select s.id, q.q, s.origin, r.status, r.truncated, r.body, s.depth, s.replaced, s.result_count
      from searches s
      join raw_answers r on r.call_id = s.call_id
      join queries q on q.id = s.query_id
      where s.id > ${after}
        and (${drawn}::bigint[] is null or s.id = any(${drawn}::bigint[]))
      order by s.id
      limit ${size}`.execute(db)
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows
    after = last.id
  }
}

async function draw(db: Database, count: number): Promise<readonly number[]> {
  const { rows } = await sql<{ id: number }>`
    select r.call_id as id
    from raw_answers r
    order by random()
    limit ${count}`.execute(db)
  return rows.map(({ id }) => id)
}

/** Pages these answers refer to. */
async function readPages(db: Database, answers: readonly number[]): Promise<readonly StoredPage[]> {
  const { rows } = await sql<StoredPage>`
    select distinct p.url, p.url_key, d.host, d.site
    from (
      select page_id from organic_results where search_id = any(${answers}::bigint[])
      union
      select page_id from search_features where search_id = any(${answers}::bigint[])
    ) r
    join pages p on p.id = r.page_id
    left join domains d on d.id = p.domain_id`.execute(db)
  return rows
}

/** Counts answers, those in the archive, and the remaining ones without a body. */
async function countAnswers(
  db: Database,
): Promise<{ readonly answers: number; readonly bodiless: number; readonly archived: number }> {
  const { rows } = await sql<{ answers: number; bodiless: number; archived: number }>`
    select
      count(*) as answers,
      count(*) filter (where s.archived) as archived,
      count(*) filter (where not s.archived and not exists (select from raw_answers r where r.call_id = s.call_id)) as bodiless
    from searches s`.execute(db)
  return only(rows)
}
