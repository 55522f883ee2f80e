import type { PoolClient } from 'pg'
import { WrongDatabase } from '../../shared/errors.ts'
import type { ArchivedDay } from './days.ts'

/** A column as a file of the archive names it. */
export interface FiledColumn {
  readonly name: string
  readonly type: string
}

type Rows = readonly (readonly (string | null)[])[]

/** Where rows go, and what becomes of those that are there already. */
export interface RowEntry {
  /** With its schema. */
  readonly table: string
  readonly columns: readonly FiledColumn[]
  readonly skipKnown?: boolean
}

/** Puts rows of the archive into a table, each value as it was written. */
export async function enterRows(client: PoolClient, entry: RowEntry, rows: Rows): Promise<number> {
  const { table, columns, skipKnown = false } = entry
  if (rows.length === 0) return 0
  const names = columns.map(({ name }) => client.escapeIdentifier(name))
  const cast = columns.map(({ type }, index) => `c${index}::${checkedType(type)}`)
  const cells = columns.map((_, index) => `c${index}`)
  const given = columns.map((_, index) => `$${index + 1}::text[]`)
  const { rowCount } = await client.query(
    `insert into ${table} (${names.join(', ')})
    select ${cast.join(', ')}
    from unnest(${given.join(', ')}) as given (${cells.join(', ')})
    ${skipKnown ? 'on conflict do nothing' : ''}`,
    columns.map((_, index) => rows.map((row) => row[index] ?? null)),
  )
  return rowCount ?? 0
}

/** A manifest is a file that somebody may have written into. */
function checkedType(type: string): string {
  if (/^[a-z][a-z ]*$/.test(type)) return type
  throw new WrongDatabase(
    `expected the name of a type in the manifest, got ${JSON.stringify(type)}; the manifest was changed`,
  )
}

/** Takes the mark from answers that are back; gives how many had it. */
export async function unmarkAnswers(client: PoolClient, answers: Rows): Promise<number> {
  const { rowCount } = await client.query(
    'update public.searches set archived = false where archived and id = any ($1::bigint[])',
    [answers.map(([id]) => id)],
  )
  return rowCount ?? 0
}

/** The day is not in the archive any more. Sums that were made without it are made again. */
export async function crossOut(client: PoolClient, { run_date: day, part }: ArchivedDay) {
  const { rowCount } = await client.query(
    `with back as (
      delete from public.archived_days
      where run_date = $1::date and part = $2
      returning run_date, archived_at
    ),
    stale as (
      delete from public.finished_days
      using back
      where finished_days.run_date >= back.run_date
        and finished_days.begun_at > back.archived_at
    )
    select from back`,
    [day, part],
  )
  return rowCount === 1
}
