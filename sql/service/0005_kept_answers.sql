-- Answers that can be asked for again by the key that their client gave them.

create table kept_answers (
  account_id bigint not null references accounts,
  key text not null,
  asked bytea not null,
  claim uuid not null,
  claimed_at timestamptz not null default now(),
  answer text,
  used integer,
  remaining bigint,
  primary key (account_id, key)
);
create index kept_answers_by_age on kept_answers (claimed_at);
comment on table kept_answers is 'Requests with an Idempotency-Key, and their answers for a day: asked again, they are neither searched nor charged again.';
comment on column kept_answers.account_id is 'The account that asked: another key of it, too, is given the answer.';
comment on column kept_answers.key is 'The Idempotency-Key.';
comment on column kept_answers.asked is 'sha256 of what was asked: the same key for something else is refused.';
comment on column kept_answers.claim is 'The one request that may answer; who comes later waits for it.';
comment on column kept_answers.claimed_at is 'Since when it may: after the longest time that a request can last, another takes its place.';
comment on column kept_answers.answer is 'What was found, as JSON; null while in work.';
comment on column kept_answers.used is 'Credits charged.';
comment on column kept_answers.remaining is 'Credits that were left then.';
