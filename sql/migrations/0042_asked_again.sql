-- An answer that was lost on its way is asked for again, where the API gives the same answer to the same key.

alter table accounts add column replay_ms bigint check (replay_ms > 0);
comment on column accounts.replay_ms is 'For how long the API gives the same answer to the same Idempotency-Key and charges it once, in milliseconds; null while it does not say so.';

alter table calls add column asked_again smallint not null default 0;
comment on column calls.asked_again is 'How often its answer was asked for again with its mark as the key, after it was lost.';
alter table calls add column asked_again_at timestamptz;
comment on column calls.asked_again_at is 'When it was asked for again the last time.';
