-- Days whose answers are in the archive. The tables do not hold the content of these answers.
create or replace view analysis.away_days as
select distinct run_date
from archived_days
where run_date not in (select loaded.run_date from loaded_days as loaded);
comment on view analysis.away_days is 'Days whose answers are in the archive and not in the tables. Views of answers exclude these days, as if the history began later. To include archived answers in an SQL query, use npm run sql -- --with-archive.';
