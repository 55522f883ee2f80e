import type { Tables } from '../database.ts'
import type { Search } from '../schemas.ts'

/** A page of this machine, best first. */
export interface FoundPage {
  readonly url: string
  readonly title: string
  /** The beginning of what it says; more of it where it is shown. */
  readonly text: string
  readonly lang: string
}

const configs: Readonly<Record<string, string>> = {
  de: 'german',
  en: 'english',
  es: 'spanish',
  fr: 'french',
  it: 'italian',
  nl: 'dutch',
  pt: 'portuguese',
}

// Labels of clusters rest on so many pages, however few are shown.
const leastPool = 50

/** The main language of an `hl` that was sent, or English. */
export function languageOf({ hl }: Pick<Search, 'hl'>): string {
  return hl?.split('-')[0]?.toLowerCase() ?? 'en'
}

/** Pages with all words first, topped up by those that hold the rarest ones. */
export async function findPages(
  { pool, trigrams }: Tables,
  search: Search,
  shown: number,
): Promise<FoundPage[]> {
  const language = languageOf(search)
  const { rows } = await pool.query<FoundPage>({
    name: trigrams ? 'find' : 'find-plain',
    text: trigrams ? statements.trigrams : statements.plain,
    values: [
      search.q.replaceAll('\0', ' '),
      configs[language] ?? 'simple',
      Math.max(shown, leastPool),
      shown,
      language,
    ],
  })
  return rows
}

const bareTitle = "regexp_replace(documents.title, ' [-|] .*$', '')"

function statement({ likeness, alike }: { likeness: string; alike: string }): string {
  return `${matching}${candidates(alike)}${ranking(likeness)}`
}

const matching = `
  with asked as (
    select websearch_to_tsquery('english', $1) || websearch_to_tsquery($2::regconfig, $1) as query
  ),
  terms as (
    select
      quote_literal(lexeme)::tsquery as term,
      coalesce(lexemes.documents, 0) as documents,
      ln(1 + (select greatest(1, sum(documents)) from corpora) / (1 + coalesce(lexemes.documents, 0)))::real as weight
    from unnest(tsvector_to_array(to_tsvector('english', $1))) as lexeme
    left join lexemes on lexemes.word = lexeme
  ),
  strict as (
    select id, 1::real as share, true as every_word
    from documents
    cross join asked
    where tsv @@ asked.query
    limit 2000
  ),
  rare as (
    select string_agg(term::text, ' | ')::tsquery as query
    from (select term from terms where documents > 0 order by documents limit 3) as few
  ),
  loose as (
    select
      id,
      (select sum(weight) filter (where tsv @@ term) / sum(weight) from terms) as share,
      false as every_word
    from documents
    cross join rare
    where (select count(*) from strict) < $4
      -- A query with operators means what it says: nothing is topped up.
      and $1 !~ '(^| )-|"'
      and tsv @@ rare.query
    order by ts_rank(tsv, rare.query) desc
    limit 300
  ),`

function candidates(alike: string): string {
  return `
    alike as (${alike}),
    candidates as (
      select id, max(share) as share, bool_or(every_word) as every_word
      from (
        select * from strict
        union all select * from loose where share >= 0.3
        union all select * from alike
      ) as every_way
      group by id
    ),`
}

function ranking(likeness: string): string {
  return `
    ranked as (
      select
        documents.url,
        documents.title,
        documents.body,
        documents.lang,
        row_number() over (
          order by
            (select coalesce(sum(weight * ts_rank(tsv, term)) / nullif(sum(weight), 0), 0) from terms)
            + case when candidates.every_word then 0.2 else 0 end
            + case when documents.lang = $5 then 0.2 else 0 end
            + ts_rank_cd(tsv, asked.query)
            + ${likeness} desc,
            documents.url
        ) as place
      from candidates
      join documents using (id)
      cross join asked
      order by place
      limit $3
    )
    select
      url,
      title,
      lang,
      left(body, case when place <= $4 then 20000 else 400 end) as text
    from ranked
    order by place`
}

const statements = {
  trigrams: statement({
    likeness: `0.2 * word_similarity(lower($1), lower(documents.title)) + similarity(${bareTitle}, $1)`,
    // Mistyped words match nothing; titles that look alike still do.
    alike: `
      select id, 0::real as share, false as every_word
      from documents
      where not exists (select from strict)
        and not exists (select from loose where share >= 0.3)
        and lower($1) <% lower(title)
      limit 200`,
  }),
  plain: statement({
    likeness: `case when lower(${bareTitle}) = lower($1) then 1 else 0 end`,
    alike: 'select id, 0::real as share, false as every_word from documents where false',
  }),
}

/** Queries like this one that at least two accounts have asked: nobody's own query is shown to others. */
export async function findAsked({ pool, trigrams }: Tables, q: string): Promise<string[]> {
  if (!trigrams) return []
  const { rows } = await pool.query<{ q: string }>({
    name: 'find-asked',
    text: `
      select lower(q) as q
      from usage
      where lower(q) % lower($1)
        and credits > 0
      group by lower(q)
      having count(distinct account_id) >= 2
      order by similarity(lower(q), lower($1)) desc, lower(q)
      limit 8`,
    values: [q.replaceAll('\0', ' ')],
  })
  return rows.map((row) => row.q)
}
