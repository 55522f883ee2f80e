-- The first ten of answers that a cadence has looked at: each night looks at two months of them, and most are the same ones.

create table first_tens (
  search_id bigint primary key,
  sight bytea not null
);
comment on table first_tens is 'The first ten of answers that were looked at to decide how often a query is asked; what is not here is read from the results.';
comment on column first_tens.search_id is 'The answer.';
comment on column first_tens.sight is 'Its depth (10 at most) and the number of pages in two bytes each, then four bytes for each page: the beginning of the MD5 of its url_key.';

create function forget_first_tens() returns trigger language plpgsql as $$
begin
  delete from first_tens;
  return null;
end
$$;
create function forget_first_tens_of_answers() returns trigger language plpgsql as $$
begin
  delete from first_tens where search_id = any (array(select id from gone));
  return null;
end
$$;
create function forget_first_tens_of_results() returns trigger language plpgsql as $$
begin
  delete from first_tens where search_id = any (array(select search_id from gone));
  return null;
end
$$;

-- Storing answers sets off none of these.
create trigger first_ten_changed after update on searches
  referencing old table as gone
  for each statement execute function forget_first_tens_of_answers();
create trigger first_ten_went after delete on searches
  referencing old table as gone
  for each statement execute function forget_first_tens_of_answers();
create trigger first_tens_went after truncate on searches
  for each statement execute function forget_first_tens();
create trigger first_ten_changed after update on organic_results
  referencing old table as gone
  for each statement execute function forget_first_tens_of_results();
create trigger first_ten_went after delete on organic_results
  referencing old table as gone
  for each statement execute function forget_first_tens_of_results();
create trigger first_tens_went after truncate on organic_results
  for each statement execute function forget_first_tens();
create trigger first_tens_changed after update of url_key on pages
  for each statement execute function forget_first_tens();
