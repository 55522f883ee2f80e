-- What a call was weighed against, so that a second purchase can be told from one that was asked for.

alter table calls add column max_age_ms bigint check (max_age_ms >= 0);
comment on column calls.max_age_ms is 'An answer younger than this many milliseconds would have been taken instead of this call; null for calls begun before this was written down.';
