// @module-tag slow
// CSV and JSON lines, read back by the program that most analysts use.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { readBatches } from '../../../src/features/analysis/ask.ts'
import { asLines } from '../../../src/features/analysis/export-command.ts'
import { writeRows } from '../../../src/features/analysis/rows.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { has, python } from '../../support/parts.ts'
import { temporaryFolder } from '../../support/place.ts'
import { placed, Story, ten } from './story.ts'

const drawn = `
  select
    n,
    case when n % 7 > 0 then date '2024-02-26' + n % 800 end as day,
    case when n % 5 > 0 then timestamptz '2026-03-28 22:59:59.999999Z' + n * interval '1 hour 1 microsecond' end as instant,
    case when n % 3 > 0 then md5(n::text)::uuid end as id,
    9223372036854775807 - n as big,
    case when n % 4 > 0 then 9007199254740993 + n end as gaps,
    case when n % 9 > 0 then -n / 7.0::double precision end as share,
    case when n % 8 > 0 then n % 2 = 0 end as yes,
    case when n % 10 > 0 then 'word ' || chr(200 + n % 40000) || repeat('"', n % 3) || repeat(chr(10), n % 2)
      || chr(128512 + n % 50) || ',;' end as words
  from generate_series(1, 20000) as n`

const columns = ['n', 'day', 'instant', 'id', 'big', 'gaps', 'share', 'yes', 'words']

/** Both sides convert their values to numbers and texts that can be compared exactly: days, microseconds, digits. */
const told = `
import json, pandas
def tell(frame):
    assert list(frame.columns) == ${JSON.stringify(columns)}, frame.columns
    ways = dict(
        n=int, day=lambda at: at.strftime('%Y-%m-%d'), instant=lambda at: str(at.value // 1000), id=str,
        big=lambda whole: str(int(whole)), gaps=lambda whole: str(int(whole)), share=float, yes=bool, words=str,
    )
    for row in frame.itertuples(index=False):
        cells = zip(frame.columns, row)
        print(json.dumps([None if pandas.isna(cell) else ways[name](cell) for name, cell in cells]))
`

// Pandas converts a column of whole numbers with gaps to doubles in every case, and these are too large for it.
const readCsv = `
tell(pandas.read_csv(
    path, dtype={'big': 'int64', 'gaps': 'string', 'yes': 'boolean'}, parse_dates=['day', 'instant'],
    float_precision='round_trip',
))`

// The same applies here, where no type helps, so they are written as texts.
const readLines = `
frame = pandas.read_json(path, lines=True, dtype=False, convert_dates=False, precise_float=True)
for name in ('day', 'instant'):
    frame[name] = pandas.to_datetime(frame[name])
tell(frame)`

function inPandas(reader: string, path: string): unknown[][] {
  const program = `${told}\npath = ${JSON.stringify(path)}\n${reader}`
  const ran = spawnSync(python, ['-c', program], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  if (ran.status !== 0) throw new Error(ran.stderr)
  return ran.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

describe.skipIf(!has('pandas'))('pandas', () => {
  let database: FreshDatabase
  const folder = temporaryFolder('pandas')
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.close())

  async function write(
    text: string,
    format: 'csv' | 'ndjson',
    how: { readonly bom?: boolean } = {},
  ): Promise<string> {
    const asked = { text, timeoutMs: 60_000, warn: () => undefined }
    const path = join(folder, `drawn.${format}`)
    const pieces: string[] = []
    for await (const piece of writeRows(readBatches(database.pool, asked), format, how)) {
      pieces.push(piece)
    }
    writeFileSync(path, pieces.join(''))
    return path
  }

  async function kept(): Promise<unknown[][]> {
    const text = `select n, day::text, (extract(epoch from instant) * 1000000)::bigint::text, id::text, big::text,
      gaps::text, share, yes, words from (${drawn}) as drawn order by n`
    return (await database.pool.query<unknown[]>({ text, rowMode: 'array' })).rows
  }

  test.each([{ bom: false }, { bom: true }])(
    'reads every written value from CSV, and nulls as null, with %j',
    async (how) => {
      const read = inPandas(readCsv, await write(drawn, 'csv', how))
      expect(read).toHaveLength(20_000)
      expect(read).toEqual(await kept())
    },
  )

  test('reads every written value from JSON lines, whole numbers with gaps as texts', async () => {
    const text = drawn.replace('9007199254740993 + n end', '(9007199254740993 + n)::text end')
    const read = inPandas(readLines, await write(asLines(text), 'ndjson'))
    expect(read).toHaveLength(20_000)
    expect(read).toEqual(await kept())
  })

  test('reads a view with the documented command', async () => {
    const story = new Story(database.pool)
    await story.night('2026-01-01', { shoes: placed(ten('r'), 4, 'caniuse.com/=x') })
    await story.night('2026-01-02', { shoes: placed(ten('r'), 4, '=taker.com/') })
    const page = readFileSync(join(root, 'docs', 'analysis.md'), 'utf8')
    const line = /^\| pandas \| `(.+?)` \|$/m.exec(page)?.[1] ?? ''
    const address = database.url.replace(/^postgres(ql)?:/, 'postgresql+psycopg2:')
    // Debian's SQLAlchemy is older than psycopg 3, so only the driver's name differs.
    const typed = line.replace(/"postgresql\+psycopg:[^"]+"/, JSON.stringify(address))
    expect(typed).toContain(address)
    const reader = `
import sqlalchemy
for row in (${typed}).sort_values('domain').itertuples():
    print(json.dumps([row.domain, row.change, row.run_date.strftime('%Y-%m-%d'), row.previous_run_date.isoformat()]))`
    const { rows } = await database.pool.query<unknown[]>({
      text: `select domain, change, run_date::text, previous_run_date::text
        from analysis.movers_on(analysis.newest_day()) order by domain collate "C"`,
      rowMode: 'array',
    })
    expect(rows.length).toBeGreaterThan(1)
    expect(inPandas(reader, '')).toEqual(rows)
  })
})
