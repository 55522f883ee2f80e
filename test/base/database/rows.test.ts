// @module-tag slow
import { sql, type RawBuilder } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rankFrontier } from '../../../src/features/expand/statements.ts'
import { makeTables } from '../../../src/core/enqueue/stage.ts'
import type { PlanOrder } from '../../../src/core/enqueue/order.ts'
import { mergeDuplicates } from '../../../src/core/enqueue/plan.ts'
import { statement } from '../../../src/base/database/sql-file.ts'
import { readTree } from '../../house/tree.ts'
import { freshUrl } from '../../support/database.ts'
import { openDescriber, type Describer } from './rows/columns.ts'
import { compareRows } from './rows/compare.ts'
import { openCompiler, type Compiler } from './rows/compiler.ts'
import { makeProbes } from './rows/documents.ts'
import { statementsOf } from './rows/statements.ts'

/** Files with statements that are assembled at run time: their own tests run each of these. */
const putTogether = new Set([
  'src/features/forget/forget.ts',
  'src/features/forget/subject.ts',
  'src/features/forget/texts.ts',
])

/** Files that are not checked, each with the reason. */
const leftOut = [
  // Functions and views in statements of the query builder, not statements of their own.
  'src/desk/pages/keywords-read.ts',
  'src/desk/pages/overview.ts',
  // The same query for one run, by its number, and for all runs of a list, by a column.
  'src/core/nights/health.ts',
  // Statements that every connection runs when it opens, with a time limit beside the text.
  'src/base/database/database.ts',
]

/** Columns that the server cannot describe, with the reason why the type is right. */
const knownBetter = [
  // The statement selects only calls with a mark.
  'src/core/ledger/waiting.ts mark may be null',
  // The statements leave out runs and lists without their own budget.
  'src/core/ledger/account.ts budget may be null',
  'src/core/ledger/account.ts budget may be null',
  'test/faults/witness.ts budget may be null',
  // The statement leaves out classes without a known price.
  'src/core/ledger/prices.ts dearest may be null',
]

let compiler: Compiler
let server: Describer
beforeAll(async () => {
  compiler = openCompiler()
  server = await openDescriber(await freshUrl())
  await makeProbes(server.db)
  await makeStage()
})
afterAll(async () => {
  compiler.close()
  await server.close()
})

/** Temporary tables used while a list is planned. */
async function makeStage() {
  const { db } = server
  await makeTables({ held: db, wanted: db }, 0)
  const order: PlanOrder = {
    ...{ list: 'list', source: null, reading: null, join: false, into: null, ifRemoved: 'keep' },
    ...{ kind: 'nightly', runDate: '2026-03-02', budget: null, maxAgeMs: 0 },
    ...{ origin: 'live', api: 'api.example.com', adaptive: true, wished: true },
    ...{ part: 0.5, shares: [{ tag: 'brand', share: 0.3 }], prices: [] },
    ...{ usable: 1, single: true, plain: true, request: null },
  }
  await db.transaction().execute(async (trx) => {
    await mergeDuplicates(trx, 0, { run: 1, joined: false, list: 1, order })
    await sql`create temporary table kept (like merged)`.execute(trx)
  })
  // The other one was dropped with its transaction.
  await sql`alter table kept rename to merged`.execute(db)
  await makeFrontier(db)
  // Rows that are archived with a day.
  await sql`create temporary table leaving (search_id bigint)`.execute(db)
  await sql`create temporary table leaving_calls (call_id bigint)`.execute(db)
}

/** Temporary tables from which related searches are selected. */
async function makeFrontier(db: Describer['db']) {
  const sources = { list: 1, into: 0, from: 0, until: 0, origin: 'live', api: 'api.example.com' }
  await db.transaction().execute(async (trx) => {
    await rankFrontier(trx, sources)
    await sql`create temporary table kept_sources (like frontier_sources)`.execute(trx)
    await sql`create temporary table kept_texts (like frontier_texts)`.execute(trx)
    await sql`create temporary table kept_ranked (like frontier_ranked)`.execute(trx)
  })
  await sql`alter table kept_sources rename to frontier_sources`.execute(db)
  await sql`alter table kept_texts rename to frontier_texts`.execute(db)
  await sql`alter table kept_ranked rename to frontier_ranked`.execute(db)
}

interface Night {
  readonly schedule: string
  readonly due_at: Date
  readonly note: string
}

const notes = (all: boolean): RawBuilder<Pick<Night, 'schedule' | 'note'>> =>
  sql`select schedule, ${sql`note`} from nights ${all ? sql`` : sql`where node is null`}`

/** Rows whose types are wrong. They are described and never read. */
const wrong = () => [
  sql<{ id: string }>`select id from runs`,
  sql<{ number: number }>`select id from runs`,
  sql<{ id: number }>`select id, state from runs where state = ${'open'}`,
  sql<Omit<Night, 'note'>>`select schedule, due_at::date from nights`,
  notes(true),
  statement<{ written: string; calls: string[]; tasks: string[] }>('reserve_calls', {
    ...{ reservation: '{}', trusted_after: 0, most_given_up: 0, lost_ms: 0 },
  }),
  sql<{ run: { id: string } }>`select jsonb_build_object('id', id) as run from runs`,
  sql<{ run: { id: number; day: Date }[] }>`
    select jsonb_agg(jsonb_build_object('id', id, 'date', run_date)) as run from runs`,
]

async function look(paths: readonly string[]) {
  const seen = { statements: 0, unknown: [] as string[], complaints: [] as string[] }
  for (const path of paths) {
    for (const found of statementsOf(compiler, path)) {
      seen.statements += 1
      // Its own test runs it; the other statements of the file are checked here.
      if (found.unknown.length > 0 && putTogether.has(path)) continue
      seen.unknown.push(...found.unknown.map((fragment) => `${path} ${fragment}`))
      const complaints = await compareRows(server, found)
      seen.complaints.push(...complaints.map((complaint) => `${path} ${complaint}`))
    }
  }
  return seen
}

describe('the type of a raw statement', () => {
  test('names the columns that the server describes, in every file of the program', async () => {
    // The search service has its own tables.
    const all = [...readTree(['src', 'test/faults'], ['.ts']).keys()].filter(
      (path) => !path.startsWith('src/service/'),
    )
    expect([...putTogether, ...leftOut].filter((path) => !all.includes(path))).toEqual([])
    const paths = all.filter((path) => !leftOut.includes(path))
    const { statements, unknown, complaints } = await look(paths)
    expect(statements).toBeGreaterThan(70)
    expect(unknown).toEqual([])
    expect(complaints.toSorted()).toEqual(knownBetter.toSorted())
  })

  test('is found wrong in names, kinds, nullable columns and documents', async () => {
    const { statements, complaints } = await look(['test/base/database/rows.test.ts'])
    expect(statements).toBe(wrong().length)
    expect(complaints.map((complaint) => complaint.replace(/^\S+ /, ''))).toEqual([
      'note may be null',
      'is refused: column "node" does not exist',
      'id is number, not string',
      'number is not in the rows',
      'id is not in the type',
      'state is not in the type',
      'due_at is string, not Date',
      'written is boolean, not string',
      'is refused: function pg_temp.is string(bigint) does not exist',
      'day is in no document',
      'date of a document is not in the type',
      'day of a document cannot be a Date',
    ])
  })
})
