// Cost of partitioning results by month: storing, questions about a day and about a query, and deleting a month, in one
// table and in partitions. The partition key is the id of the answer, which grows with time and is part of every key.
import type { Pool } from 'pg'
import { openPool } from '../../src/base/database/database.ts'
import type { Ground } from './ground.ts'
import { startMeter } from './meter.ts'

const months = 12
const days = 30
const resultsOfAnswer = 10
/** As many answers as a worker stores with one statement. */
const batch = 64
const storedAnswers = 6_400
const portion = 2_000
const asked = 20

/** CPU of the server in milliseconds, with the amounts read and written. */
interface Cost {
  readonly cpu_ms: number
  readonly seconds: number
  readonly wal_mb: number
}

interface LayoutFigures {
  readonly size_mb: number
  /** CPU for storing the results of one answer, in microseconds. */
  readonly store_us: number
  /** A question about all answers of one day, and about all answers to one query: CPU and buffers for one execution. */
  readonly day: Asking
  readonly query: Asking
  /** Deletes the oldest month: in batches of rows followed by a vacuum, or as a table. */
  readonly month: Cost
  readonly size_after_mb: number
}

interface Asking {
  readonly cpu_ms: number
  readonly planning_ms: number
  readonly buffers: number
}

/** The measured figures and the size of the data. */
export interface PartitionFigures {
  readonly rows: number
  readonly fill_seconds: number
  readonly one_table: LayoutFigures
  readonly by_month: LayoutFigures
}

/** Measures both layouts over the same rows, one after the other. */
export async function benchPartitions(
  { freshUrl, postgres }: Pick<Ground, 'freshUrl' | 'postgres'>,
  { rows, say }: { readonly rows: number; readonly say: (line: string) => void },
): Promise<PartitionFigures> {
  const pool = openPool(await freshUrl(), { name: 'bench', max: 1 })
  const answers = Math.floor(rows / resultsOfAnswer / months / days) * months * days
  const bench = new Bench(pool, postgres.pid, answers)
  try {
    const began = performance.now()
    await bench.fill()
    const fillSeconds = (performance.now() - began) / 1000
    say(`${answers * resultsOfAnswer} results in each layout after ${Math.round(fillSeconds)} s`)
    const oneTable = await bench.measure('one_table', () => bench.deleteMonth())
    say('one table is measured')
    const byMonth = await bench.measure('by_month', () => bench.dropMonth())
    return {
      rows: answers * resultsOfAnswer,
      fill_seconds: rounded(fillSeconds),
      one_table: oneTable,
      by_month: byMonth,
    }
  } finally {
    await pool.end()
  }
}

class Bench {
  readonly #pool: Pool
  readonly #server: number
  readonly #answers: number

  constructor(pool: Pool, server: number, answers: number) {
    this.#pool = pool
    this.#server = server
    this.#answers = answers
  }

  /** Rows first and keys afterwards, because this is much faster. Each month of the second layout is a copy. */
  async fill(): Promise<void> {
    const { answers } = this.#span(0)
    await this.#run(`
      create table one_table (like organic_results including defaults) with (autovacuum_enabled = off);
      create table by_month (like organic_results including defaults) partition by range (search_id)`)
    for (let month = 0; month < months; month++) {
      const { from, until } = this.#span(month)
      await this.#run(`
        create table month_${month} partition of by_month for values from (${from}) to (${until})
          with (autovacuum_enabled = off);
        insert into month_${month} (search_id, ordinal, position, page_id, domain_id, title, snippet)
        ${resultsOf(from, until)};
        insert into one_table select * from month_${month}`)
    }
    const end = answers * months
    await this.#run(`
      create table month_${months} partition of by_month for values from (${end}) to (maxvalue)
        with (autovacuum_enabled = off);
      alter table one_table add primary key (search_id, ordinal);
      alter table by_month add primary key (search_id, ordinal)`)
    // Vacuumed and analyzed, like a history that autovacuum has processed.
    for (const table of ['one_table', 'by_month'])
      await this.#run(`vacuum (freeze, analyze) ${table}`)
    await this.#run('checkpoint')
  }

  #span(month: number) {
    const answers = this.#answers / months
    return { answers, from: month * answers, until: (month + 1) * answers }
  }

  async measure(table: string, takeMonth: () => Promise<void>): Promise<LayoutFigures> {
    const size = await this.#size(table)
    const store = await this.#cost(() => this.#store(table))
    const day = await this.#ask(table, this.#dayIds())
    const query = await this.#ask(table, this.#queryIds())
    const month = await this.#cost(takeMonth)
    return {
      size_mb: size,
      store_us: rounded((store.cpu_ms * 1000) / storedAnswers),
      day,
      query,
      month,
      size_after_mb: await this.#size(table),
    }
  }

  /** New answers at the end of the newest month, with as many per statement as a worker stores. */
  async #store(table: string): Promise<void> {
    for (let done = 0; done < storedAnswers; done += batch) {
      const from = this.#answers + done
      await this.#run(`
        insert into ${table} (search_id, ordinal, position, page_id, domain_id, title, snippet)
        ${resultsOf(from, from + batch)}`)
    }
  }

  /** The answers of one day in the middle, with consecutive ids. */
  #dayIds(): string {
    const { from, answers } = this.#span(months / 2)
    const ofDay = answers / days
    return `select ${from} + 14 * ${ofDay} + n as id from generate_series(0, ${ofDay - 1}) as n`
  }

  /** The answers to one query, one for each day. */
  #queryIds(): string {
    const ofDay = this.#answers / months / days
    return `select n * ${ofDay} + 7 as id from generate_series(0, ${months * days - 1}) as n`
  }

  /** As in the views: by ids of answers from another table. */
  async #ask(table: string, ids: string): Promise<Asking> {
    await this.#run(`
      drop table if exists wanted; create temp table wanted as ${ids}; analyze wanted`)
    const question = `
      select count(*), count(distinct domain_id), min(position)
      from wanted join ${table} as r on r.search_id = wanted.id`
    await this.#run(question)
    const { cpu_ms: cpu } = await this.#cost(async () => {
      for (let n = 0; n < asked; n++) await this.#run(question)
    })
    const plan = await this.#plan(question)
    return { cpu_ms: rounded(cpu / asked), ...plan }
  }

  async #plan(question: string): Promise<Omit<Asking, 'cpu_ms'>> {
    const { rows } = await this.#pool.query<{ 'QUERY PLAN': readonly Explained[] }>(
      `explain (analyze, buffers, format json) ${question}`,
    )
    const explained = rows[0]?.['QUERY PLAN'][0]
    if (explained === undefined) throw new Error('expected a plan, got none')
    const { Plan: plan, 'Planning Time': planning } = explained
    const buffers = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    return { planning_ms: rounded(planning), buffers }
  }

  /** In batches with short locks, like all deletes that run beside nights. */
  async deleteMonth(): Promise<void> {
    const { until } = this.#span(0)
    for (let from = 0; from < until; from += portion) {
      await this.#run(
        `delete from one_table where search_id >= ${from} and search_id < ${Math.min(until, from + portion)}`,
      )
    }
    await this.#run('vacuum one_table')
  }

  async dropMonth(): Promise<void> {
    await this.#run('alter table by_month detach partition month_0')
    await this.#run('drop table month_0')
  }

  async #cost(work: () => Promise<void>): Promise<Cost> {
    const before = await this.#wal()
    const read = startMeter({ postgres: this.#server })
    await work()
    const { postgres, seconds } = read()
    const wal = (await this.#wal()) - before
    return {
      cpu_ms: rounded(postgres / 1000),
      seconds: rounded(seconds),
      wal_mb: rounded(wal / 1e6),
    }
  }

  async #wal(): Promise<number> {
    const { rows } = await this.#pool.query<{ bytes: string }>(
      `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`,
    )
    return Number(rows[0]?.bytes)
  }

  async #size(table: string): Promise<number> {
    const { rows } = await this.#pool.query<{ bytes: string }>(
      `
        select pg_total_relation_size('${table}') + coalesce(
          (select sum(pg_total_relation_size(relid)) from pg_partition_tree('${table}') where isleaf and level > 0), 0
        ) as bytes`,
    )
    return Math.round(Number(rows[0]?.bytes) / 1e6)
  }

  async #run(statement: string): Promise<void> {
    await this.#pool.query(statement)
  }
}

interface Explained {
  readonly 'Planning Time': number
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
}

/** Results as long as those of the stand-in. A page occurs in several answers, most of them to the same query. */
function resultsOf(from: number, until: number): string {
  return `
    select
      answer, ordinal, ordinal,
      md5('page' || (answer * 7 + ordinal) % 400000)::uuid, md5('host' || (answer + ordinal) % 9000)::uuid,
      'Title ' || md5(answer::text), repeat(md5(ordinal || 'of' || answer), 5)
    from generate_series(${from}::bigint, ${until - 1}::bigint) as answer, generate_series(1, ${resultsOfAnswer}) as ordinal`
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
