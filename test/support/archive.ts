// const past = await makePast(database, 'seed') → a few nights with odd texts and with late, reused and refused
// answers, written straight into the tables. moveAll(database, folder) archives them; readTables(pool) returns the
// content of the tables, row by row.
import type { Pool } from 'pg'
import { archiveDay, type ArchiveStep, bringBack } from '../../src/features/archive/day.ts'
import { ParquetEngine } from '../../src/features/archive/engine.ts'
import { ArchiveFolder } from '../../src/features/archive/folder.ts'
import { seeded } from '../../src/base/random.ts'
import {
  archivedTables,
  gatherKept,
  holdArchive,
  readArchivedDays,
  readLeavingDays,
} from '../../src/features/archive/days.ts'
import { installationId } from '../../src/core/queue/open-slices.ts'
import { type Answers, Story, ten } from '../features/analysis/story.ts'
import type { FreshDatabase } from './database.ts'

const odd = [
  '\u{feff}begins with a mark',
  'Grüße \u{1f600} "quoted", \\x61 and {braces}',
  'line\nfeed\ttab',
  '',
  'NULL',
  ' ',
  '12345678901234567890',
]

/** Several nights of a few queries, with data that is difficult to archive. */
export async function makePast(database: FreshDatabase, seed: string, nights = 5): Promise<Story> {
  const { pool } = database
  const random = seeded(seed)
  const pick = (most: number) => Math.floor(random() * most)
  await pool.query("insert into accounts (name, kind) values ('bank', 'live')")
  const story = new Story(pool)
  const queries = ['shoes', 'sandals', 'boots', 'socks']
  for (let night = 0; night < nights; night++) {
    const answers: Record<string, Answers[string]> = {}
    for (const q of queries) {
      const kind = night === 0 ? 9 : pick(10)
      if (kind === 0) continue
      if (kind === 1) answers[q] = 'failed'
      else if (kind === 2) answers[q] = 'reused'
      else if (kind === 3) answers[q] = 'not_asked'
      else if (kind === 4) answers[q] = { unreadable: true }
      else
        answers[q] = {
          results: [...ten('r').slice(pick(5)), `a${pick(6)}.com/${pick(3)}?q=ü`],
          titles: [odd[pick(odd.length)] ?? '', odd[pick(odd.length)] ?? ''],
          entities: [`E${pick(3)}`],
          clusters: [`C${pick(3)}`],
          related: [`shoes ${pick(4)}`],
          credits: pick(3),
        }
    }
    const found = await story.night(`2025-01-0${night + 1}`, answers)
    const [first] = [...found.values()]
    if (first !== undefined && pick(2) === 0) await story.late(first, { results: ten('l') })
  }
  await furnish(pool, random)
  return story
}

/** Bodies, blocks, and columns that the story does not cover. */
async function furnish(pool: Pool, random: () => number): Promise<void> {
  const { rows } = await pool.query<{ id: number; search: number | null }>(
    'select calls.id, searches.id as search from calls left join searches on searches.call_id = calls.id and parse_error is null',
  )
  for (const { id, search } of rows) {
    const body = Buffer.from(
      Array.from({ length: Math.floor(random() * 300) }, () => random() * 256),
    )
    await pool.query(
      'insert into raw_answers (call_id, status, received_at, truncated, body) values ($1, 200, $2, $3, $4)',
      [id, `2025-01-01 0${id % 10}:00:00.${id}${'0'.repeat(id % 3)}1+02`, id % 2 === 0, body],
    )
    if (search === null) continue
    await pool.query(
      `insert into search_features (search_id, ordinal, kind, page_id, text, extra)
      select $1, 1, 'ads', (select page_id from organic_results where search_id = $1 and ordinal = 1), $2, $3`,
      [search, odd[id % odd.length], '{"n": 12345678901234567890, "a": [null, "\\u00fc"]}'],
    )
    await pool.query(
      `update organic_results
      set snippet = $2, extra = $3, as_given = $4
      where search_id = $1 and ordinal % 2 = 0`,
      [search, odd[(id + 1) % odd.length], '{"rank": 1.50, "x": {"y": []}}', '"as it came"'],
    )
  }
  await pool.query('update organic_results set page_id = null, domain_id = null where ordinal = 3')
}

/** Every row of every table that an archive changes or copies, in a form that can be compared. */
export async function readTables(pool: Pool): Promise<Record<string, readonly string[]>> {
  const told: Record<string, readonly string[]> = {}
  const ours = [
    'archived_days',
    'calls',
    'finished_labels',
    'finished_queries',
    'finished_shares',
    'finished_steps',
    'finished_stays',
    'finished_losses',
    'finished_answers',
    'finished_groups',
    'finished_related',
    'finished_costs',
    'finished_outcomes',
  ]
  for (const name of [...archivedTables.map((table) => table.name), ...ours]) {
    const { rows } = await pool.query<{ row: string }>(
      `select t::text as row from ${name} t order by t::text collate "C"`,
    )
    told[name] = rows.map(({ row }) => row)
  }
  return told
}

interface Moving {
  readonly folder: string
  readonly step?: (name: ArchiveStep) => Promise<void> | void
  /** The first day that stays. */
  readonly before?: string
}

/** Archives every day before a limit, as the command does. */
export async function moveAll(
  database: Pick<FreshDatabase, 'pool' | 'db'>,
  { folder: path, step, before = 'infinity' }: Moving,
) {
  const client = await holdArchive(database.pool)
  const engine = await ParquetEngine.open()
  try {
    const installation = await installationId(database.db)
    const folder = new ArchiveFolder(path)
    await folder.claim(installation)
    const days = (await readLeavingDays(database.db, 0)).days.filter((day) => day < before)
    await gatherKept(client, days)
    const moved = []
    for (const day of days) {
      const passage = {
        client,
        folder,
        engine,
        installation,
        ...(step === undefined ? {} : { step }),
      }
      const archived = await archiveDay(passage, day)
      if (archived !== null) moved.push(archived)
    }
    return moved
  } finally {
    client.release(true)
    engine.close()
  }
}

/** Restores every day, newest first, as the command does. */
export async function returnAll(database: FreshDatabase): Promise<void> {
  const client = await holdArchive(database.pool)
  const engine = await ParquetEngine.open()
  try {
    const installation = await installationId(database.db)
    for (const day of (await readArchivedDays(database.db)).toReversed()) {
      const folder = new ArchiveFolder(day.folder)
      const { files } = await bringBack({ client, engine, folder, installation }, day)
      await folder.remove(files)
    }
  } finally {
    client.release(true)
    engine.close()
  }
}
