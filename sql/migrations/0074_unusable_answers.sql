-- What counts as unreadable: also a refusal that was charged, and an answer to another query.

comment on column searches.parse_error is 'Why the answer has no rows: its body could not be read, the API refused the query and charged for it, it answers another query, or the tables refused its rows; null when none of this is so.';
comment on column night_health.unreadable is 'Queries whose answer cannot be used: its body cannot be read, the API refused the query and charged for it, or it answers another query.';
