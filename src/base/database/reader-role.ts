// Creates the read-only role and the analysts' logins, and prevents analysts from blocking workers.

import { randomBytes } from 'node:crypto'
import type { Pool } from 'pg'
import { codeOf, Misuse } from '../errors.ts'
import { type Database, openDatabase } from './database.ts'
import { dictionaryTables, factTables, sumTables } from './facts.ts'
import { sql } from './kysely.ts'
import { only } from './sql-file.ts'

/** Creates the read-only role, or renews its grants. Returns null if our own role may not create roles. */
export async function ensureReader(pool: Pool): Promise<string | null> {
  try {
    return await openDatabase(pool).transaction().execute(grantReader)
  } catch (error) {
    if (isReadersOnly(error)) return null
    throw error
  }
}

/** Returns the read-only role if it exists and our own role may use it, or null otherwise. Changes nothing. */
export async function findReader(pool: Pick<Pool, 'query'>): Promise<string | null> {
  const { rows } = await pool.query<{ role: string }>(
    `select rolname as role
    from pg_roles
    join pg_database on rolname = 'querymill_reader_' || pg_database.oid
    where datname = current_database()
      and pg_has_role(current_user, pg_roles.oid, 'member')`,
  )
  return rows[0]?.role ?? null
}

async function grantReader(trx: Database): Promise<string> {
  // All databases on a server share roles, so the role's name contains the database's oid.
  const { rows } = await sql<{ name: string }>`
    select 'querymill_reader_' || oid as name
    from pg_database
    where datname = current_database()`.execute(trx)
  const { name } = only(rows)
  await lockRoles(trx)
  await withholdLocks(trx)
  const role = sql.id(name)
  const there = await sql`select from pg_roles where rolname = ${name}`.execute(trx)
  if (there.rows.length === 0) await sql`create role ${role} nologin`.execute(trx)
  const tables = sql.join(readable.map((table) => sql.table(`public.${table}`)))
  await sql`
    grant usage on schema public, analysis, migrations to ${role};
    -- Lets the commands check that the migrations are theirs.
    grant select on migrations.checksums to ${role};
    grant select on ${tables} to ${role};
    grant select on all tables in schema analysis to ${role};
    alter default privileges in schema analysis grant select on tables to ${role};
    -- Analysts may write notes on days, and create tables in scratch.
    grant usage on schema notes, scratch to ${role};
    grant select, insert, update, delete on all tables in schema notes to ${role};
    grant create on schema scratch to ${role};
    -- Only a member of the reader role can act as it.
    grant ${role} to current_user;
  `.execute(trx)
  return name
}

function lockRoles(trx: Database) {
  return sql`select pg_advisory_xact_lock(hashtext('querymill reader'))`.execute(trx)
}

/**
 * Prevents other roles from using advisory locks, because a reader that holds a list's lock would block `enqueue`.
 * Only a superuser can revoke this right. If our role is not a superuser, the grants are left unchanged.
 */
async function withholdLocks(trx: Database): Promise<void> {
  await sql`
    do $$
    declare lock_function regprocedure;
    begin
      for lock_function in
        select oid
        from pg_proc
        where pronamespace = 'pg_catalog'::regnamespace
          and proname ~ '^pg_(try_)?advisory_(xact_)?lock'
          and has_function_privilege('public', oid, 'execute')
          and (select rolsuper from pg_roles where rolname = current_user)
      loop
        execute format('revoke execute on function %s from public', lock_function);
        execute format('grant execute on function %s to %I', lock_function, (
          select pg_get_userbyid(relowner) from pg_class where oid = 'public.calls'::regclass
        ));
      end loop;
    end $$`.execute(trx)
}

/** Maximum number of connections per analyst. PostgreSQL allows 100 connections in total by default. */
const analystConnections = 8

/** Creates an analyst's login, or renews its grants. The password is null if the analyst already existed. */
export async function ensureAnalyst(pool: Pool, name: string) {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name) || name.startsWith('pg_')) {
    throw new Misuse(
      `expected an analyst name in lower-case letters, digits and underscores, got ${JSON.stringify(name)}`,
    )
  }
  const reader = await ensureReader(pool)
  if (reader === null) {
    throw new Misuse(
      'expected the user of DATABASE_URL to be allowed to create roles, got a user without this right; grant that user CREATEROLE, or ask the server administrator to do so',
    )
  }
  return openDatabase(pool)
    .transaction()
    .execute((trx) => grantAnalyst(trx, name, reader))
}

async function grantAnalyst(trx: Database, name: string, reader: string) {
  await lockRoles(trx)
  const { rows } = await sql<{ ours: boolean }>`
    select exists (
      select
      from pg_auth_members
      join pg_roles as held on held.oid = pg_auth_members.roleid
      where pg_auth_members.member = pg_roles.oid
        and held.rolname like 'querymill_reader_%'
    ) and not rolsuper and not rolcreaterole as ours
    from pg_roles
    where rolname = ${name}`.execute(trx)
  if (rows[0]?.ours === false) {
    throw new Misuse(
      `expected a new name or the name of an analyst, got ${name}, the name of another role; choose another name`,
    )
  }
  const there = rows[0] !== undefined
  const password = there ? null : randomBytes(18).toString('base64url')
  const role = sql.id(name)
  if (password !== null) {
    await sql`create role ${role} login password ${sql.lit(password)}`.execute(trx)
  }
  // These settings are only a convenience, because analysts may change them. The grants control access.
  await sql`
    grant ${sql.id(reader)} to ${role};
    -- Older releases made logins read-only by default, which blocked notes.
    alter role ${role} reset default_transaction_read_only;
    alter role ${role} set statement_timeout = '5min';
    alter role ${role} set work_mem = '64MB';
    alter role ${role} set jit = off;
    alter role ${role} set idle_in_transaction_session_timeout = '10min';
    alter role ${role} set search_path = analysis, public, notes, scratch;
    alter role ${role} connection limit ${sql.lit(analystConnections)};
  `.execute(trx)
  const { rows: own } = await sql<{ all: boolean }>`
    select rolsuper as all from pg_roles where rolname = current_user`.execute(trx)
  // Only a superuser can set or lift this limit.
  if (only(own).all) await sql`alter role ${role} set temp_file_limit = '4GB'`.execute(trx)
  return { name, password }
}

export async function changing<T>(what: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!isReadersOnly(error)) throw error
    throw new Misuse(`expected a login that may change ${what}, got a read-only login`, {
      cause: error,
    })
  }
}

/** True for a permission error, or for a write in a read-only transaction. */
function isReadersOnly(error: unknown): boolean {
  return ['42501', '25006'].includes(codeOf(error) ?? '')
}

/** Tables that analysts may read: answers, lists and their cost. */
export const readable = [
  'installation',
  'lists',
  'list_queries',
  'list_query_history',
  'cadences',
  'cadence_nights',
  'cadence_draws',
  'queries',
  'runs',
  'slices',
  'tasks',
  'calls',
  'stops',
  'searches',
  'raw_answers',
  ...factTables,
  ...dictionaryTables,
  'answer_fields',
  'rejected_lines',
  'nights',
  'night_health',
  'night_evidence',
  'quarantine',
  'trust_marks',
  'alerts',
  'alert_rules',
  'own_domains',
  'own_domain_changes',
  'rival_domains',
  'ctr_curve',
  'finished_days',
  ...sumTables,
  'seen_pages',
  'archived_days',
  'loaded_days',
  'loaded_answers',
  'expansions',
  'forgotten_tasks',
  'forgotten_bodies',
  'result_domains',
] as const

/** Internal tables with bookkeeping such as worker states and balances. */
export const withheld = [
  'accounts',
  'account_costs',
  'first_tens',
  'forgetting_queries',
  'forgetting_words',
  'notices',
  'forecast_steps',
  'forecasts',
  'prunings',
  'schedules',
  'statement_lines',
  'statement_marks',
  'view_files',
  'workers',
] as const
