// The statement that finds and ranks documents.

/**
 * Parameters: the words as text ($1), a query for all words ($2), the same query for titles ($3), and a query for the
 * rarest words ($4). Terms are tsqueries ($5) with weights ($6), and tsqueries for titles and addresses ($12). $7 is
 * the maximum number of pages, $8 a sufficient number of pages with all words, $9 the language, $10 the maximum number
 * of candidates, and $11 the minimum share of the weight that a page must match.
 */
export const ranking = `
  with terms as materialized (
    select
      term::tsquery as term,
      headed::tsquery as headed,
      weight,
      -- A page without any of these words has too little of the weight, even if it has all other words.
      row_number() over (order by weight desc) <= 3
        and sum(weight) over (order by weight rows unbounded preceding)
          >= $11::real * sum(weight) over () as rare
    from unnest($5::text[], $6::real[], $12::text[]) as given (term, weight, headed)
  ),
  titled as (
    select id
    from documents
    where tsv @@ $3::tsquery
    limit $10
  ),
  strict as (
    select id
    from documents
    where tsv @@ $2::tsquery
    limit $10
  ),
  -- Uses only the index, because reading the words of every matching page took most of the time.
  holding as materialized (
    select documents.id, documents.tsv, sum(terms.weight) as weight
    from terms
    join documents on documents.tsv @@ terms.term
    -- A query with operators has no rarest words, and needs exact matches.
    where terms.rare
      and numnode($4::tsquery) > 0
      and (select count(*) from strict) < $8
    group by documents.id
  ),
  loose as (
    select
      id,
      (select sum(terms.weight) filter (where tsv @@ term) / sum(terms.weight) from terms) as share
    from holding
    where holding.weight + (select coalesce(sum(weight) filter (where not rare), 0) from terms)
      >= $11::real * (select sum(weight) from terms)
    order by share desc, ts_rank(tsv, $4::tsquery) desc
    -- Ranking a page costs four times as much as comparing it here, and no search shows more pages.
    limit 100
  ),
  candidates as (
    select id from titled
    union
    select id from strict
    union
    select id from loose where share >= $11::real
  ),
  ranked as (
    select
      documents.url,
      documents.title,
      documents.body,
      documents.lang,
      held.rank
        -- Squared, because a page with half of the query is less than half as good as a page with the whole query.
        + 0.9 * power(held.share, 2)
        + 0.4 * power(held.ahead, 2)
        -- Pages about a subject rank above pages that only mention it.
        + case when documents.subject then 0.15 else 0 end
        + case when documents.lang = $9 then 0.2 else 0 end
        -- Bounded, because repeated words matter less than the title.
        -- Matched first, because most candidates lack some words, and covers are expensive to look for.
        + case when held_words @@ $2::tsquery then ts_rank_cd(held_words, $2::tsquery, 32) else 0 end
        -- A member of an interface ranks below the interface, unless the query has a dot.
        - case when documents.head ~ '^[A-Za-z]\\w*\\.[A-Za-z]' and $1 not like '%.%' then 0.15 else 0 end
        + 1.2 * similarity(regexp_replace(documents.head, ' [-|] .*$', ''), $1) as score
    from candidates
    join documents using (id)
    -- Decompressed once instead of in each function that reads it.
    cross join lateral (select documents.tsv || ''::tsvector as held_words offset 0) as unpacked
    cross join lateral (
      select
        coalesce(sum(weight * ts_rank(held_words, term)) / nullif(sum(weight), 0), 0) as rank,
        coalesce(sum(weight) filter (where held_words @@ term) / nullif(sum(weight), 0), 0) as share,
        coalesce(sum(weight) filter (where held_words @@ headed) / nullif(sum(weight), 0), 0) as ahead
      from terms
    ) as held
  )
  select url, title, lang, score, left(body, 20000) as text
  from ranked
  order by score desc, url
  limit $7`
