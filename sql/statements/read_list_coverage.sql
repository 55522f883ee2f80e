-- Reads a list's coverage on a day. Returns no row if no query in the list was planned for that day. Parameters:
-- :name (of the list), :day (date).
select
  coverage.planned, coverage.answered, coverage.bought, coverage.reused, coverage.not_asked as "notAsked",
  coverage.failed, coverage.unknown, coverage.open,
  coverage.unreadable + coverage.suspect + coverage.other_origin + coverage.unaffordable + coverage.cancelled as others
from analysis.coverage_between(:day::date, :day::date) as coverage
where coverage.list = :name;
