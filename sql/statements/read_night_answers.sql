-- Reads the answers that a run bought, in order of query id, after query :after. Each row contains the numbers of
-- the top ten pages, the share of foreign domains, and up to :most older answers (from before :date), newest first.
-- Each older answer is encoded as bytes: its day,
-- whether it is trusted, its number of pages, and a number for each page.
select asked.query_id, searches.id as search_id, queries.q, now.pages, now.foreign_share as foreign, before.earlier
from (
  select tasks.query_id, tasks.search_id
  from tasks
  where tasks.run_id = :run
    and tasks.state = 'answered'
    and tasks.query_id > :after::uuid
  order by tasks.query_id
  limit :chunk_size
) as asked
join queries on queries.id = asked.query_id
left join searches
  on searches.id = asked.search_id
  and searches.parse_error is null
  and not searches.archived
left join lateral (
  select
    string_agg(marks.page, ''::bytea order by marks.position, marks.ordinal) as pages,
    case when queries.gl <> '' then
      count(*) filter (where marks.country <> case lower(queries.gl) when 'gb' then 'uk' else lower(queries.gl) end)
        / nullif(count(*), 0)::float8
    end as foreign_share
  from (
    select
      held.position, held.ordinal, substr(uuid_send(held.page_id), 1, 4) as page,
      substring(domains.host from '[.](?!ai|cc|co|eu|fm|gg|im|io|la|ly|me|sh|so|tk|to|tv|ws)([a-z]{2})$') as country
    from organic_results as held
    -- Domains are needed only for queries with a country. For other queries, "case" saves ten lookups per answer.
    left join domains on domains.id = case when queries.gl <> '' then held.domain_id end
    where held.search_id = searches.id
      and held.page_id is not null
      and held.position between 1 and 10
  ) as marks
) as now on true
cross join lateral (
  select
    coalesce(
      string_agg(
        int4send(older.run_date - date '1970-01-01') || int2send(older.trusted::integer::int2)
          || int2send((length(older.pages) / 4)::int2) || older.pages,
        ''::bytea
        order by older.fetched_at desc, older.id desc
      ),
      ''
    ) as earlier
  from (
    select
      past.*,
      (
        select string_agg(marks.page, ''::bytea order by marks.position, marks.ordinal)
        from (
          select held.position, held.ordinal, substr(uuid_send(held.page_id), 1, 4) as page
          from organic_results as held
          where held.search_id = past.id
            and held.page_id is not null
            and held.position between 1 and 10
        ) as marks
      ) as pages
    from (
      select
        older.id, older.fetched_at, runs.run_date,
        not runs.suspect and not exists (select from quarantine where quarantine.search_id = older.id) as trusted
      from searches as older
      join tasks on tasks.id = older.task_id
      join runs on runs.id = tasks.run_id
      join night_health as health on health.run_id = runs.id
      where older.query_id = asked.query_id
        and older.origin = searches.origin
        and older.api = searches.api
        and older.fetched_at < searches.fetched_at
        and older.parse_error is null
        and older.result_count > 0
        and not older.archived
        and runs.run_date < :date::date
        and health.judged_at >= runs.finished_at
      order by older.fetched_at desc, older.id desc
      limit :most
    ) as past
  ) as older
  where older.pages is not null
) as before
order by asked.query_id
