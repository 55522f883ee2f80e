-- Reads the origins of stored answers, and checks whether any origin is shown. Parameter: :asked (origins separated by
-- commas, or null for the origins that the views show).
select
  exists (select from searches where origin = any (shown.origins)) as shown,
  (select string_agg(distinct origin, ',') from searches) as there
from (
  select string_to_array(coalesce(:asked::text, array_to_string(analysis.origins(), ',')), ',') as origins
) as shown;
