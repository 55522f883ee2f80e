import { sql, type RawBuilder } from '../kysely.ts'
import { counting, type Promises } from './question.ts'

// An id is the first 16 bytes of the hash of what the row is about, its parts joined by U+001F.
function strays(table: string, kind: string, content: RawBuilder<unknown>) {
  return counting(sql`
    from ${sql.table(table)} t
    where uuid_send(t.id) <> substring(sha256(convert_to(${kind}::text || chr(31) || ${content}, 'UTF8')) for 16)`)
}

// Postgres and JavaScript escape the same characters of a text in the same way.
const canonical = sql`
  '["1",' || to_json(q) || ','
  || coalesce(to_json(location)::text, 'null') || ','
  || coalesce(to_json(hl)::text, 'null') || ','
  || coalesce(to_json(gl)::text, 'null') || ','
  || num || ','
  || coalesce(to_json(device)::text, 'null') || ']'`

/** What is named after its content says what its name was made of; bodies are there as long as nobody pruned them. */
export const contentPromises: Promises = {
  // The primary key keeps ids apart, and so it keeps keys apart.
  'each query has the id of its key': strays('queries', 'query', sql`t.key`),
  'each query has the key of what it asks': counting(sql`
    from queries where key <> encode(sha256(convert_to(${canonical}, 'UTF8')), 'hex')`),
  'each page has the id of its address': strays('pages', 'page', sql`t.url`),
  'each domain has the id of its host': strays('domains', 'domain', sql`t.host`),
  'each entity has the id of its name and type': strays(
    'entities',
    'entity',
    sql`t.name || coalesce(chr(31) || t.type, '')`,
  ),
  'each topic has the id of its label': strays('clusters', 'cluster', sql`t.label`),
  'each related query has the id of its text': strays(
    'related_searches',
    'related_search',
    sql`t.q`,
  ),
  // What was received after everything that was ever pruned must be there; so must the body of each refusal.
  'each response has its body, unless bodies of its age were pruned or archived': counting(sql`
    from calls c
    left join searches s on s.call_id = c.id
    where (s.id is not null or c.http_status is not null)
      and c.outcome is not null
      and not exists (select from raw_answers r where r.call_id = c.id)
      -- Bodies of archived days are in the archive.
      and not exists (
        select
        from tasks t
        join runs r on r.id = t.run_id
        join archived_days a on a.run_date = r.run_date
        where t.id = c.task_id
      )
      and not exists (select from forgotten_tasks f where f.task_id = c.task_id)
      and not exists (select from forgotten_bodies f where f.call_id = c.id)
      and coalesce(s.fetched_at, c.sent_at) >= coalesce(
        (select max(p.received_before) from prunings p),
        '-infinity'
      )`),
}
