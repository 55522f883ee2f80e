import { sql } from '../kysely.ts'
import { counting, type Promises } from './question.ts'

// An answer has no word for what went wrong, and a status; a call that was given up has no status.
const answered = sql`c.error_code is null and c.http_status is not null and c.outcome in ('settled', 'unknown')`
// An answer whose rows the tables refused told its price all the same.
const priced = sql`(c.error_code is null or c.error_code = 'UNSTORABLE') and c.http_status is not null and c.outcome = 'settled'`

/** What calls and answers say about each other and about the account, each of them written on its own. */
export function evidencePromises(zone: string): Promises {
  return { ...aboutCalls, ...aboutAccounts, [dayName]: daySpent(zone), [monthName]: monthSpent }
}

const aboutCalls: Promises = {
  'each call that was answered has its answer, unless the tables refused it': counting(sql`
    from calls c
    where ${answered}
      and not exists (select from searches s where s.call_id = c.id)
      and not exists (select from forgotten_tasks f where f.task_id = c.task_id)`),
  'each answer tells the cost and the balance of its call': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    where (s.credits_used, s.credits_remaining) is distinct from (c.credits_used, c.credits_remaining)
      and c.outcome = 'settled'`),
  // What another account has just been told is not there yet for whoever decides in the same second.
  'no query was bought while an answer was there that was young enough': counting(sql`
    from calls c
    join accounts a on a.id = c.account_id
    join tasks t on t.id = c.task_id
    join searches s on s.query_id = c.query_id and s.call_id <> c.id
    join calls first on first.id = s.call_id
    where c.max_age_ms > 0
      and c.outcome <> 'unsent'
      and s.origin = a.kind
      and first.account_id = c.account_id
      -- The tables refused it when it came: nobody could take it.
      and first.error_code is null
      and first.finished_at < c.sent_at - interval '1 second'
      and s.fetched_at > c.sent_at - (c.max_age_ms - 1000) * interval '1 millisecond'
      and (t.answers_after is null or s.fetched_at > t.answers_after)`),
  'what was given up or had a response was sent': counting(sql`
    from calls c
    where c.outcome = 'unsent'
      and (
        c.unknown_at is not null
        or c.http_status is not null
        or exists (select from raw_answers r where r.call_id = c.id)
      )`),
  // An answer may come after its call was given up: then one call counts as two tries, also when it told no price.
  'no task has more tries than calls': counting(sql`
    from tasks t
    left join (
      select
        task_id,
        count(*) + count(*) filter (
          where unknown_at is not null
            and (outcome = 'settled' or exists (select from searches s where s.call_id = calls.id))
        ) as tries,
        count(*) filter (where unknown_at is not null) as unread
      from calls
      where outcome in ('settled', 'unknown')
      group by task_id
    ) c on c.task_id = t.id
    where t.attempts > coalesce(c.tries, 0)
      or t.ambiguous > coalesce(c.unread, 0)
      or t.deaths > coalesce(c.unread, 0)`),
  // Hosts are right to within five seconds; an answer may come after its call was given up.
  'each answer was received while its call was out': counting(sql`
    from searches s
    join calls c on c.id = s.call_id
    left join raw_answers r on r.call_id = s.call_id
    where s.fetched_at is distinct from coalesce(r.received_at, s.fetched_at)
      or s.fetched_at < c.sent_at - interval '5 seconds'
      or (c.unknown_at is null and s.fetched_at > c.finished_at + interval '5 seconds')`),
  'no more lines of a run gave a query than it has tasks': counting(sql`
    from runs r
    where r.accepted > (select count(*) from tasks t where t.run_id = r.id)
      + (select count(*) from forgotten_tasks f where f.run_id = r.id)`),
  'nothing says what the calls of forgotten queries asked, or what they were answered':
    counting(sql`
    from forgotten_tasks f
    left join calls c on c.task_id = f.task_id
    where c.query_id <> uuid '00000000-0000-0000-0000-000000000000'
      or c.error_message is not null
      or exists (select from tasks t where t.id = f.task_id)
      or exists (select from raw_answers r where r.call_id = c.id)`),
  'no message holds a key': counting(sql`
    from (
      select error_message as said from calls
      union all select error_message from tasks
      union all select detail from stops
      union all select parse_error from searches
    ) messages
    where said ~ 'sk_(live|test)_[A-Za-z0-9_-]'`),
}

const aboutAccounts: Promises = {
  'the balance of an account is the one that an answer told': counting(sql`
    from accounts a
    left join calls c on c.account_id = a.id and c.start_seq = a.obs_seq
    where a.obs_seq is not null
      and a.obs_remaining is distinct from c.credits_remaining
      -- The API said that credit is used up: nothing is taken to be left.
      and not coalesce(a.obs_remaining = 0 and c.error_code is not null, false)`),
  'the prices of each kind are those that its answers told': counting(sql`
    from account_costs p
    left join (
      select
        c.account_id, c.class, count(*) as answers, max(c.credits_used) as dearest, min(c.credits_used) as cheapest
      from calls c
      where ${priced}
      group by c.account_id, c.class
    ) told using (account_id, class)
    -- Prices may have been forgotten on request: what is believed since then is not the whole, and nothing else.
    where p.dearest > coalesce(told.dearest, 0)
      or p.cheapest < coalesce(told.cheapest, p.cheapest + 1)
      or p.seen >= told.answers and (p.dearest, p.cheapest) is distinct from (told.dearest, told.cheapest)
      or greatest(p.recent_first, p.earlier_first) > coalesce(p.dearest, 0)`),
  // Kept are the last thirty to sixty that were read, in an order that is not written down: hence the least of some.
  'calls are bound to no less than the last prices': counting(sql`
    from account_costs p
    where greatest(p.recent_first, p.earlier_first) < (
      select min(newest.credits_used)
      from (
        select c.credits_used
        from calls c
        where c.account_id = p.account_id and c.class = p.class and ${priced}
        order by c.id desc
        limit 10
      ) newest
    )
    and p.seen >= 30`),
  // Whatever others spend: a call that was let through although the newest balance had no room for it.
  'no call began that would have gone below the floor by the newest balance told': counting(sql`
    from (
      select
        moment.*,
        max(told) over passed as newest,
        max(late_seq) over passed as late
      from (
        select
          c.account_id, c.sent_at as at, c.credits_reserved as bound, w.floor, c.probe,
          null::bigint[] as told,
          case when c.unknown_at is not null and c.credits_remaining is not null then c.start_seq end as late_seq
        from calls c
        join workers w on w.id = c.worker
        union all
        select
          c.account_id, c.finished_at, null, null, null, array[c.start_seq, c.credits_remaining], null
        from calls c
        where c.outcome = 'settled' and c.unknown_at is null and c.credits_remaining is not null
      ) moment
      window passed as (partition by account_id order by at rows between unbounded preceding and 1 preceding)
    ) begun
    join accounts a on a.id = begun.account_id
    where a.kind <> 'test'
      and not begun.probe
      and begun.newest[2] - begun.bound < begun.floor
      -- When exactly a late answer was read is not written down.
      and (begun.late is null or begun.late < begun.newest[1])`),
}

const monthName = 'the credits of the month are at least those of the calls that began in it'

const monthSpent = counting(sql`
  from accounts a
  where a.month_spent < (
    select
      coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
    from calls c
    where c.account_id = a.id and c.sent_at >= a.month_since
  )`)

const dayName = 'the credits of the day are at least those of the calls that began on it'

// What ended today and began before counts as well, so there may be more.
function daySpent(zone: string) {
  return counting(sql`
    from accounts a
    where a.day_spent < (
      select
        coalesce(sum(case c.outcome when 'settled' then c.credits_used when 'unknown' then c.credits_reserved end), 0)
      from calls c
      where c.account_id = a.id
        -- A call decided on just before midnight counts for the day before.
        and c.sent_at >= a.day::timestamp at time zone ${zone}::text + interval '5 seconds'
        and c.sent_at < (a.day + 1)::timestamp at time zone ${zone}::text
    )`)
}
