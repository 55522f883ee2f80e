-- Sorts an account's calls into the order in which the API charged them, and explains each change in the balance. The
-- function reads only its arguments, so a view that uses it shows only data that the view's owner may read.
create or replace function analysis.balance_changes(
  ids bigint[],
  sent timestamptz[],
  finished timestamptz[],
  used bigint[],
  remaining bigint[],
  bound bigint[],
  washed timestamptz[],
  opening bigint,
  opened timestamptz
) returns table (
  at timestamptz, after timestamptz, kind text, credits bigint, balance bigint, call_id bigint, explained integer
)
language plpgsql immutable parallel safe as $$
declare
  next integer := 1;
  last constant integer := coalesce(array_length(ids, 1), 0);
  -- Unsorted calls that reported a balance. Only the first waiting_count elements are in use.
  waiting integer[] := '{}';
  waiting_count integer := 0;
  -- For each waiting call: its end time, and the balance before its charge. In unused elements, the
  -- time is infinity and the balance is null.
  ends timestamptz[] := '{}';
  befores bigint[] := '{}';
  -- Calls that reported no balance. The cost of these calls is visible only in balances that other calls reported.
  silent integer[] := '{}';
  silent_count integer := 0;
  best integer;
  best_found bigint;
  below boolean;
  best_below boolean;
  found bigint;
  i integer;
  k integer;
  fall bigint;
  part bigint;
  -- Number of calls explained by the lines so far; null if another call overlaps any of these calls.
  done integer;
begin
  balance := opening;
  after := opened;
  loop
    -- A call that began before any waiting call ended may have been charged first.
    while next <= last and sent[next] <= all (ends) loop
      if remaining[next] is not null then
        waiting_count := waiting_count + 1;
        waiting[waiting_count] := next;
        ends[waiting_count] := finished[next];
        befores[waiting_count] := remaining[next] + coalesce(used[next], 0);
      elsif used[next] is null or used[next] > 0 then
        silent_count := silent_count + 1;
        silent[silent_count] := next;
      end if;
      next := next + 1;
    end loop;
    exit when waiting_count = 0;

    -- Picks a call whose balance before the charge equals the current balance. If no call matches, something
    -- other than our calls changed the balance. The function then picks the call with the highest balance below
    -- the current balance or, if there is none, with the highest balance.
    explained := null;
    best := case when balance is not null then array_position(befores, balance) end;
    for place in 1..case when best is null then waiting_count else 0 end loop
      found := befores[place];
      below := coalesce(found < balance, false);
      continue when best is not null and (below < best_below or below = best_below and found <= best_found);
      best := place;
      best_found := found;
      best_below := below;
    end loop;
    i := waiting[best];
    found := befores[best];
    waiting[best] := waiting[waiting_count];
    ends[best] := ends[waiting_count];
    befores[best] := befores[waiting_count];
    ends[waiting_count] := 'infinity';
    befores[waiting_count] := null;
    waiting_count := waiting_count - 1;

    at := finished[i];
    if balance is null then
      after := null;
      kind := 'opening';
      credits := found;
      balance := found;
      call_id := ids[i];
      return next;
    end if;

    fall := balance - found;
    -- The first pass considers silent calls with a known cost, and the second pass considers silent
    -- calls that may have been charged. The balance from the picked call should include the cost of
    -- every call that ended before the picked call began. If the balance lacks one of these costs,
    -- credits were added in the meantime.
    for pass in 1..case when silent_count > 0 then 2 else 0 end loop
      k := 1;
      while k <= silent_count loop
        part := silent[k];
        if pass = 1 and (used[part] <= fall and sent[part] <= finished[i] or used[part] > 0 and sent[i] > finished[part])
          or pass = 2 and used[part] is null and fall > 0 and sent[part] <= finished[i]
            and (washed[part] is null or washed[part] >= sent[i])
        then
          kind := case pass when 1 then 'ours' else 'perhaps_ours' end;
          credits := -coalesce(used[part], least(fall, bound[part]));
          fall := fall + credits;
          balance := balance + credits;
          call_id := ids[part];
          if credits <> 0 then
            return next;
          end if;
        elsif used[part] is not null or washed[part] is null or washed[part] >= sent[i] then
          k := k + 1;
          continue;
        end if;
        silent[k] := silent[silent_count];
        silent_count := silent_count - 1;
      end loop;
    end loop;
    call_id := ids[i];
    done := case when waiting_count = 0 and silent_count = 0 then next - 1 end;
    if fall <> 0 then
      explained := case when coalesce(used[i], 0) = 0 then done end;
      kind := case when fall > 0 then 'others' else 'top_up' end;
      credits := -fall;
      balance := found;
      return next;
    end if;
    if coalesce(used[i], 0) <> 0 then
      kind := 'ours';
      credits := -used[i];
      balance := remaining[i];
      explained := done;
      return next;
    end if;
    after := finished[i];
  end loop;

  explained := null;
  -- Subtracts the reported costs of the remaining calls, because no later balance was reported.
  for place in 1..silent_count loop
    part := silent[place];
    continue when balance is null or used[part] is null;
    at := finished[part];
    kind := 'ours';
    credits := -used[part];
    balance := balance + credits;
    call_id := ids[part];
    return next;
  end loop;
end
$$;
comment on function analysis.balance_changes(bigint[], timestamptz[], timestamptz[], bigint[], bigint[], bigint[], timestamptz[], bigint, timestamptz) is 'Balance changes for one account, computed from arrays with a value for each call. If opening is null, the first row contains the first known balance. The explained column is the number of calls that the rows so far explain completely, or null.';
