import type pg from 'pg'
import type { AskedWords } from './question.ts'
import type { Statements } from './statements.ts'

// What a person types; longer texts are nothing to be shown to others.
const longest = 200
const most = 8
// Ranked by likeness are so many: which of ten thousand alike are shown makes no difference.
const candidates = 200
const fewWords = 6

/** Queries with these words that at least two accounts have asked: nobody's own query is shown to others. */
export async function findAsked(run: Statements, { words }: AskedWords): Promise<string[]> {
  if (words.length === 0) return []
  const query = words
    .slice(0, fewWords)
    .map((word) => `'${word.replaceAll("'", "''")}'`)
    .join(' & ')
  const rows = await run.rows<{ q: string }>({
    name: 'find-asked',
    text: `
      select q
      from (
        select q
        from asked
        where shared
          and to_tsvector('simple'::regconfig, q) @@ $1::tsquery
        limit ${candidates}
      ) as few
      order by length(q), q
      limit ${most}`,
    values: [query],
  })
  return rows.map(({ q }) => q)
}

/** Notes that an account asked this. The second account to ask makes it a query that is shown. */
export async function noteAsked(pool: pg.Pool, account: number, q: string): Promise<void> {
  const text = q.replaceAll('\0', ' ').trim().replace(/\s+/g, ' ').toLowerCase()
  if (text === '' || text.length > longest) return
  await pool.query({
    name: 'note-asked',
    text: `
      insert into asked (q, account_id)
      values ($1, $2)
      on conflict (q) do update
      set
        shared = asked.shared or asked.account_id <> excluded.account_id,
        last_on = excluded.last_on
      where asked.last_on < excluded.last_on
        or (not asked.shared and asked.account_id <> excluded.account_id)`,
    values: [text, account],
  })
}
