-- No query is lent the answer of another one any more: those that were lent one rested, and those that chance drew among
-- them were drawn among the resting.

-- Columns of views cannot be taken away by "create or replace". Views are put in place after the migrations.
drop view if exists analysis.lent_results;
drop view if exists analysis.lent;
drop view if exists analysis.coverage;
drop view if exists analysis.cadence_nights;
drop view if exists analysis.cadence;
delete from view_files
where name in ('lent_results', 'lent', 'coverage', 'cadence_nights', 'cadence');

update cadence_nights
set
  rested = rested + lent,
  by_chance = by_chance + lent_by_chance
where lent + lent_by_chance > 0;

alter table cadence_nights
  drop column lent,
  drop column lent_by_chance;
alter table cadence_draws
  drop column lent_by,
  drop column differences;
alter table cadences drop column lent_by;
drop table lendings;
