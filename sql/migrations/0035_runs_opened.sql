-- A run that is opened again begins to wait for a worker at that moment, not when it was made.

alter table runs add column opened_at timestamptz;
comment on column runs.opened_at is 'When tasks of it were last opened again (npm run retry); null: never.';
