import pg from 'pg'
import type { Database } from '../../../../src/base/database/database.ts'
import { Kysely, PostgresDialect } from '../../../../src/base/database/kysely.ts'
import type { DB } from '../../../../src/base/database/schema.ts'

/** A column of a statement's rows, as the server describes it. */
export interface Described {
  readonly name: string
  /** TypeScript type of the values that the driver returns. */
  readonly kind: string
  /** True for a column of a table that may be null. Whether an expression may be null is not known. */
  readonly nullable: boolean
}

/** One connection to a database. Statements are described on it, and none is executed. */
export interface Describer {
  /** The tables on the same connection, so that its temporary tables are visible to described statements. */
  readonly db: Database
  readonly describe: (text: string) => Promise<readonly Described[]>
  readonly close: () => Promise<void>
}

const kinds: Readonly<Record<number, string>> = {
  16: 'boolean',
  17: 'Buffer',
  19: 'string',
  20: 'number',
  21: 'number',
  23: 'number',
  25: 'string',
  114: 'json',
  701: 'number',
  1007: 'number[]',
  1009: 'string[]',
  1016: 'string[]',
  1082: 'string',
  1184: 'Date',
  1700: 'number',
  2950: 'string',
  3802: 'json',
}

export async function openDescriber(connectionString: string): Promise<Describer> {
  // Without the pipeline of our pools, because a custom query needs a connection of its own.
  const client = new pg.Client({ connectionString })
  await client.connect()
  const nullable = await readNullable(client)
  const release = () => undefined
  const connect = async () => Object.assign(client, { release })
  const end = () => client.end()
  return {
    db: new Kysely<DB>({ dialect: new PostgresDialect({ pool: { connect, end } }) }),
    describe: async (text) => {
      const fields = await describeOne(client, text)
      return fields.map(({ name, dataTypeID, tableID, columnID }) => ({
        name,
        kind: kinds[dataTypeID] ?? `the type ${dataTypeID}`,
        nullable: nullable.has(`${tableID}.${columnID}`),
      }))
    },
    close: end,
  }
}

/** Columns that may be null. Any column of a view may be, because the server does not know which are. */
async function readNullable(client: pg.Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ id: string }>(
    `select attrelid::oid || '.' || attnum as id
    from pg_attribute
    join pg_class on pg_class.oid = attrelid
    where relkind = 'r' and attnum > 0 and not attnotnull`,
  )
  return new Set(rows.map(({ id }) => id))
}

/** Requests the description of a statement's rows, and nothing else. */
function describeOne(client: pg.Client, text: string): Promise<readonly pg.FieldDef[]> {
  return new Promise((done, fail) => {
    let fields: readonly pg.FieldDef[] = []
    client.query({
      submit: (connection: pg.Connection) => {
        connection.parse({ name: '', text, types: [] }, true)
        connection.describe({ type: 'S', name: '' }, true)
        connection.sync()
      },
      handleRowDescription: (description: { fields: readonly pg.FieldDef[] }) => {
        fields = description.fields
      },
      handleError: fail,
      handleReadyForQuery: () => done(fields),
    })
  })
}
