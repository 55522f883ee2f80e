// The statement that finds and ranks documents.

type Term = Readonly<Record<'term' | 'headed' | 'weight', string>>

/**
 * Returns the statement for a number of terms. Parameters: the words as text ($1), a query for all words ($2), the same
 * query for titles ($3), a query for the rarest words ($4), and a query for the words without which a page has too
 * little of the weight ($5). $6 is the maximum number of pages, $7 a sufficient number of pages with all words, $8 the
 * language, $9 the maximum number of candidates, and $10 the minimum share of the weight that a page must match. Each
 * term follows as a tsquery, a tsquery for titles and addresses, and its share of the weight.
 */
export function rankingOf(count: number): string {
  const terms = Array.from({ length: count }, (_, index) => {
    const at = 11 + 3 * index
    return { term: `$${at}::tsquery`, headed: `$${at + 1}::tsquery`, weight: `$${at + 2}::real` }
  })
  return `with ${candidatesFor(terms)}, ${rankedBy(terms)}
    select
      url, title, lang, score,
      case when octet_length(body) > 20000 then left(body, 20000) else body end as text
    from ranked
    order by score desc, url
    limit $6`
}

/** Returns an expression for the share of the weight that a page's words match. */
function shareOf(terms: readonly Term[], words: string, kind: 'term' | 'headed' = 'term'): string {
  const parts = terms.map(
    (one) => `case when ${words} @@ ${one[kind]} then ${one.weight} else 0 end`,
  )
  return parts.join(' + ')
}

function candidatesFor(terms: readonly Term[]): string {
  return `strict as (
      select id, ${shareOf(terms, 'tsv')} as share
      from documents
      where tsv @@ $2::tsquery
      -- If there are too many pages, those with all words in the title are among the candidates.
      order by tsv @@ $3::tsquery desc
      limit $9
    ),
    loose as (
      select id, share
      from (
        select id, tsv, ${shareOf(terms, 'tsv')} as share
        from documents
        where tsv @@ $5::tsquery
          and (select count(*) from strict) < $7
        -- Computes the share once.
        offset 0
      ) as holding
      where share >= $10::real
      order by share desc, ts_rank(tsv, $4::tsquery) desc, id
      -- No search shows more pages.
      limit 100
    ),
    candidates as (
      select id, share, 0 as below from strict
      union all
      -- Ranking a page costs four times as much as comparing it, so pages after the fiftieth keep their order.
      select id, share, least(0, 50 - row_number() over ()) from loose where id not in (select id from strict)
    )`
}

function rankedBy(terms: readonly Term[]): string {
  const ranks = terms.map(({ term, weight }) => `${weight} * ts_rank(held_words, ${term})`)
  return `ranked as (
      select
        documents.url,
        documents.title,
        documents.body,
        documents.lang,
        case when below < 0 then below else ${ranks.join(' + ')}
          -- Squared, because a page with half of the query is less than half as good as a page with the whole query.
          + 0.9 * power(share, 2)
          + 0.4 * power(${shareOf(terms, 'held_words', 'headed')}, 2)
          -- Pages about a subject rank above pages that only mention it.
          + case when documents.subject then 0.15 else 0 end
          + case when documents.lang = $8 then 0.2 else 0 end
          -- Bounded, because repeated words matter less than the title.
          -- Matched first, because most candidates lack some words, and covers are expensive to look for.
          + case when held_words @@ $2::tsquery then ts_rank_cd(held_words, $2::tsquery, 32) else 0 end
          -- A member of an interface ranks below the interface, unless the query has a dot.
          - case when documents.head ~ '^[A-Za-z]\\w*\\.[A-Za-z]' and $1 not like '%.%' then 0.15 else 0 end
          + 1.2 * similarity(documents.head, $1) end as score
      from candidates
      join documents using (id)
      -- Long texts are decompressed once instead of in each function that reads them.
      cross join lateral (
        select case when pg_column_size(documents.tsv) > 1900 then documents.tsv || '' else documents.tsv end as held_words
        offset 0
      ) as unpacked
    )`
}
