const bareTitle = "regexp_replace(documents.head, ' [-|] .*$', '')"

const matching = `
  with terms as materialized (
    select term::tsquery as term, weight, row_number() over (order by weight desc) <= 3 as rare
    from unnest($5::text[], $6::real[]) as given (term, weight)
  ),
  titled as (
    select id, 1::real as share, true as every_word
    from documents
    where tsv @@ $3::tsquery
    limit $10
  ),
  strict as (
    select id, 1::real as share, true as every_word
    from documents
    where tsv @@ $2::tsquery
    limit $10
  ),
  loose as (
    select
      id,
      (select sum(weight) filter (where tsv @@ term) / sum(weight) from terms) as share,
      false as every_word
    from documents
    where (select count(*) from strict) < $8
      and tsv @@ $4::tsquery
    -- There may be more than are ranked: those with the rarest words are.
    order by
      (select sum(weight) filter (where tsv @@ term) from terms where rare) desc,
      ts_rank(tsv, $4::tsquery) desc
    limit 300
  ),`

function candidates(alike: string): string {
  return `
    alike as (${alike}),
    candidates as (
      select id, max(share) as share, bool_or(every_word) as every_word
      from (
        select * from titled
        union all select * from strict
        union all select * from loose where share >= $11::real
        union all select * from alike
      ) as every_way
      group by id
    ),`
}

function order(likeness: string): string {
  return `
    ranked as (
      select
        documents.url,
        documents.title,
        documents.body,
        documents.lang,
        (select coalesce(sum(weight * ts_rank(tsv, term)) / nullif(sum(weight), 0), 0) from terms)
          + case when candidates.every_word then 0.2 else 0 end
          + case when documents.lang = $9 then 0.2 else 0 end
          -- Bounded: how often a page repeats the words says less than what it is called.
          + ts_rank_cd(tsv, $2::tsquery, 32)
          -- A member of something is less than the thing, unless it is asked for as one.
          - case when documents.head ~ '^[A-Za-z]\\w*\\.[A-Za-z]' and $1 not like '%.%' then 0.15 else 0 end
          + ${likeness} as score
      from candidates
      join documents using (id)
    ),
    placed as (
      select *, row_number() over (order by score desc, url) as place
      from ranked
      order by place
      limit $7
    )
    select
      url,
      title,
      lang,
      score,
      left(body, case when place <= $8 then 20000 else 400 end) as text
    from placed
    order by place`
}

function statement({ likeness, alike }: { likeness: string; alike: string }): string {
  return `${matching}${candidates(alike)}${order(likeness)}`
}

/**
 * One statement finds and ranks. Its parameters: the words as text, all of them as a query, all of them in the title,
 * the rarest, each term, their weights, how many pages at most, how many are shown, the language, how many candidates,
 * the least share of the words' weight that a page has to hold.
 */
export const ranking = {
  trigrams: statement({
    likeness: `0.2 * word_similarity($1, lower(documents.title)) + similarity(${bareTitle}, $1)`,
    // Words that are wrong in more than one letter match nothing; titles that look alike still do.
    alike: `
      select id, 0::real as share, false as every_word
      from documents
      where not exists (select from strict)
        and not exists (select from loose where share >= $11::real)
        and $1 <% lower(title)
      limit 200`,
  }),
  plain: statement({
    likeness: `case when lower(${bareTitle}) = $1 then 1 else 0 end`,
    alike: 'select id, 0::real as share, false as every_word from documents where $1::text is null',
  }),
}
