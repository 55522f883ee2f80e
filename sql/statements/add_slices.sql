-- Adds slices :first to :last of a run. Slices without tasks to buy are stored as done.
insert into slices (run_id, slice, priority, done_at)
select :run::bigint, slice, :priority::smallint, case when :done::boolean then now() end
from generate_series(:first::bigint, :last::bigint) as slice
