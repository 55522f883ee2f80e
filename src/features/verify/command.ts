// The verify command: runs all checks, parses bodies again, and accounts for all credits.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Answer, type Origin, otherQuery, refusedRows } from '../../base/answer.ts'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { npmRun } from '../../base/cli/commands.ts'
import { wholeFlag } from '../../base/cli/flags.ts'
import { count, formatNumber } from '../../base/cli/text.ts'
import { readConfig } from '../../base/config.ts'
import type { Database } from '../../base/database/database.ts'
import { bindParameters, nameParameters, only, readRows } from '../../base/database/sql-file.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { groupBy } from '../../base/query.ts'
import { root } from '../../base/root.ts'
import { type AnswerRows, readAnswers } from '../../core/answers/store.ts'
import { openMill } from '../../core/mill.ts'
import { rereadAnswer } from '../../core/search/verdict.ts'

interface VerifyOptions {
  readonly deep?: true
  readonly maxExternal?: string
}

export type Verified = Awaited<ReturnType<typeof prove>>

const sampleSize = 500
/** Number of finished days to recompute. Recomputing a day's sums takes as long as storing them. */
const sampleDays = 7

/** Searches the database for rows that violate a check. Prints each group of checks, and each account's credits. */
export async function verify({ options, env, closers }: Call<VerifyOptions>): Promise<Exit> {
  const most = wholeFlag('max-external', options.maxExternal, 1e15) ?? Infinity
  const config = readConfig(env)
  const mill = await openMill({ config, closers, say, name: 'verify', reading: true })
  const asked = { zone: config.zone, deep: options.deep === true }
  const { checks, unproved } = await onSnapshot(mill.db, (snapshot) => prove(snapshot, asked))
  const credits = await conserveCredits(mill.db)
  const over = credits.filter(({ unexplained }) => unexplained > most)
  const ok = over.length === 0 && checks.every((check) => check.ok)
  if (options.json === true) {
    const named = checks.map(({ name, ok: held, violations }) => ({ name, ok: held, violations }))
    printJson({ ok, checks: named, credits, unproved })
  } else {
    for (const line of checkLines(checks)) print(line)
    for (const account of credits) print(creditsLine(account))
    for (const line of unproved) print(`not checked: ${line}`)
  }
  for (const { account, unexplained } of over) {
    say(
      `external spend of ${account}: ${formatNumber(unexplained)} credits, more than --max-external ${options.maxExternal}; ${npmRun('statement')} shows when they were spent`,
    )
  }
  if (ok) say('all checks passed')
  else if (over.length === 0) say('a check failed')
  return ok ? exits.done : exits.failures
}

export async function prove(
  db: Database,
  { zone, deep }: { readonly zone: string; readonly deep: boolean },
) {
  const promises = await runChecks(db, { zone, days: deep ? null : sampleDays })
  const { answers: rebuilt, violations } = await rebuildAnswers(db, deep ? null : sampleSize)
  const { answers, bodiless, archived } = await countAnswers(db)
  const finished = await readFinishedDays(db)
  const unproved: readonly (readonly [count: number, what: string])[] = [
    [bodiless, 'answers with pruned or forgotten bodies'],
    [archived, `answers in the archive; ${npmRun('archive --')} --check reads them`],
    [answers - bodiless - archived - rebuilt, 'answers outside the sample; use --deep'],
    [deep ? 0 : finished.length - sampleDays, 'finished days outside the sample; use --deep'],
  ]
  return {
    checks: [...promises, checkOf('Rows of answers', 'each answer matches its body', violations)],
    unproved: [
      ...unproved.flatMap(([number, what]) =>
        number > 0 ? [`the content of ${number} ${what}`] : [],
      ),
      ...beyondProof,
    ],
  }
}

function checkLines(checks: readonly Check[]): readonly string[] {
  return [...groupBy(checks, ({ group }) => group)].flatMap(([group, members]) => {
    const violated = members.filter(({ ok }) => !ok)
    const held = violated.length === 0 ? '' : `${members.length - violated.length} of `
    return [
      `${group}: ${held}${count(members.length, 'check')} hold`,
      ...violated.map(({ name, violations }) => `  ${name}: ${count(violations, 'violation')}`),
    ]
  })
}

function creditsLine(account: Conservation): string {
  const { opening, used, unknown, unexplained, added, closing } = account
  const parts = [
    [opening, 'at the start'],
    [used, 'used'],
    [unknown, 'possibly used by calls with an unknown outcome'],
    [unexplained, 'external spend'],
    [added, 'added'],
    [closing, 'left'],
  ] as const
  const said = parts.map(([credits, what]) => `${formatNumber(credits)} ${what}`)
  return `credits of ${account.account}: ${said.join(', ')}`
}

// The database can't prove these facts. Printing them keeps users from overrating a clean result.
const beyondProof = [
  "whether the API charged the reported amounts; only the API's own records show the charges",
  'consistent changes to a body, its rows, its call and the sums',
  'the number of duplicate lines, if one line of a file can produce several queries',
  'answers and calls that were removed together with all rows that refer to them',
]

const batch = 64

/** Parses stored bodies again. If the results differ from the stored rows, the rows were changed later. */
async function rebuildAnswers(db: Database, sample: number | null) {
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

interface AnswerFigures {
  readonly depth: number | null
  readonly replaced: number
  readonly result_count: number
}

function isSame(answer: Answer, rows: AnswerRows, figures: AnswerFigures): boolean {
  const { depth, replaced, result_count: results } = figures
  // The answer is readable, but the database rejected its rows, so there are no rows to compare.
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

/** Converts a value to the form that a column returns. For example, negative zero becomes zero. */
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

type StoredPage = Awaited<ReturnType<typeof readPages>>[number]

/** Reads the bodies and stored figures of `sample` random answers in batches; null means all answers. */
async function* readProofs(db: Database, sample: number | null, size: number) {
  const drawn = sample === null ? null : await draw(db, sample)
  for (let after = 0; ;) {
    const proofs = await db
      .selectFrom('searches as s')
      .innerJoin('raw_answers as r', 'r.call_id', 's.call_id')
      .innerJoin('queries as q', 'q.id', 's.query_id')
      .select(['s.id', 'q.q', 'r.status', 'r.truncated', 'r.body'])
      .select(['s.depth', 's.replaced', 's.result_count'])
      .select((eb) => eb.ref('s.origin').$castTo<Origin>().as('origin'))
      .where('s.id', '>', after)
      .$if(drawn !== null, (query) =>
        query.where((eb) => eb('s.id', '=', eb.fn.any(eb.val(drawn ?? [])))),
      )
      .orderBy('s.id')
      .limit(size)
      .execute()
    const last = proofs.at(-1)
    if (last === undefined) return
    yield proofs
    after = last.id
  }
}

async function draw(db: Database, size: number): Promise<readonly number[]> {
  const bodies = db.selectFrom('raw_answers').select('call_id')
  const drawn = await bodies
    .orderBy((eb) => eb.fn('random'))
    .limit(size)
    .execute()
  return drawn.map((body) => body.call_id)
}

async function readPages(db: Database, answers: readonly number[]) {
  const shown = (table: 'organic_results' | 'search_features') =>
    db
      .selectFrom(table)
      .select('page_id')
      .where((eb) => eb('search_id', '=', eb.fn.any(eb.val(answers))))
  return db
    .selectFrom(shown('organic_results').union(shown('search_features')).as('r'))
    .innerJoin('pages as p', 'p.id', 'r.page_id')
    .leftJoin('domains as d', 'd.id', 'p.domain_id')
    .select(['p.url', 'p.url_key', 'd.host', 'd.site'])
    .distinct()
    .execute()
}

async function countAnswers(db: Database) {
  return db
    .selectFrom('searches as s')
    .select((eb) => [
      eb.fn.countAll<number>().as('answers'),
      eb.fn.countAll<number>().filterWhere('s.archived', '=', true).as('archived'),
      eb.fn
        .countAll<number>()
        .filterWhere('s.archived', '=', false)
        .filterWhere((of) =>
          of.not(
            of.exists(of.selectFrom('raw_answers as r').whereRef('r.call_id', '=', 's.call_id')),
          ),
        )
        .as('bodiless'),
    ])
    .executeTakeFirstOrThrow()
}

export type Check = ReturnType<typeof checkOf>

/** Runs the function on one snapshot, because rows that change between two queries would look like violations. */
export async function onSnapshot<T>(db: Database, look: (snapshot: Database) => Promise<T>) {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(look)
}

/** Runs the checks in `sql/checks`. Recomputes the sums of `days` finished days (null: of all finished days). */
export async function runChecks(
  db: Database,
  { zone, days }: { readonly zone: string; readonly days: number | null },
): Promise<readonly Check[]> {
  const finished = await readFinishedDays(db)
  const parameters = {
    zone,
    other_query: otherQuery,
    days: finished.slice(0, days ?? undefined),
    all_days: days === null,
  }
  const checks: Check[] = []
  for (const { path, group, name, file } of readChecks()) {
    const entries = Object.entries(parameters).filter(([each]) => file.names.includes(each))
    const query = bindParameters<{ violations: number }>(path, file, Object.fromEntries(entries))
    const { rows } = await db.executeQuery(query)
    checks.push(checkOf(group, name, only(rows).violations))
  }
  return checks
}

function checkOf(group: string, name: string, violations: number) {
  return { group, name, ok: violations === 0, violations }
}

/** Reads the checks from their files. Each file begins with its heading, and each check with `-- check: NAME`. */
function readChecks() {
  const folder = join(root, 'sql', 'checks')
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  return files.toSorted().flatMap((file) => {
    const [head = '', ...parts] = readFileSync(join(folder, file), 'utf8').split(/^-- check: /m)
    const group = firstLine(head).replace(/^-- /, '')
    return parts.map((part) => {
      const name = firstLine(part)
      const text = part.slice(name.length)
      return { path: `sql/checks/${file}`, group, name, file: nameParameters(text) }
    })
  })
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? ''
}

/** Reads the ids of the finished days that can be recomputed, in random order. */
async function readFinishedDays(db: Database): Promise<readonly number[]> {
  const rows = await readRows<{ id: number }>(db, 'read_finished_days', {})
  return rows.map(({ id }) => id)
}

interface Conservation {
  readonly account: string
  readonly kind: string
  readonly opening: number
  readonly used: number
  /** Decrease in the balance while a call with an unknown outcome was in flight. */
  readonly unknown: number
  /** External spend: a decrease that no call explains. */
  readonly unexplained: number
  readonly added: number
  readonly closing: number
}

/** Adds up every change in each account's balance: opening - used - unknown - unexplained + added = closing. */
export function conserveCredits(db: Database) {
  return readRows<Conservation>(db, 'conserve_credits', {})
}
