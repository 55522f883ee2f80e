// Creates the read-only role and the analysts' logins, and prevents analysts from blocking workers.

import { randomBytes } from 'node:crypto'
import type { Pool, PoolClient } from 'pg'
import { codeOf, Misuse } from '../errors.ts'
import { dictionaryTables, factTables, sumTables } from './facts.ts'
import { only } from './sql-file.ts'

/** Creates the read-only role, or renews its grants. Returns null if our own role may not create roles. */
export async function ensureReader(pool: Pool): Promise<string | null> {
  try {
    return await inTransaction(pool, grantReader)
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

async function grantReader(client: PoolClient): Promise<string> {
  // All databases on a server share their roles, so the name contains the database's oid.
  const { rows } = await client.query<{ role: string }>(
    "select 'querymill_reader_' || oid as role from pg_database where datname = current_database()",
  )
  const { role } = only(rows)
  await client.query("select pg_advisory_xact_lock(hashtext('querymill reader'))")
  await withholdLocks(client)
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [role])
  if (rowCount === 0) await client.query(`create role ${role} nologin`)
  const tables = readable.map((name) => `public.${name}`).join(', ')
  await client.query(`
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
  `)
  return role
}

/**
 * Revokes the use of advisory locks from all other roles, because a reader that holds a list's lock would block
 * `enqueue`. Only a superuser can revoke this right. Other users leave the server's grants unchanged.
 */
async function withholdLocks(client: PoolClient): Promise<void> {
  await client.query(`
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
    end $$`)
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
      'expected a DATABASE_URL whose user may create roles, got a user who may not; ask the server administrator, or grant that user CREATEROLE',
    )
  }
  return inTransaction(pool, (client) => grantAnalyst(client, name, reader))
}

async function grantAnalyst(client: PoolClient, name: string, reader: string) {
  await client.query("select pg_advisory_xact_lock(hashtext('querymill reader'))")
  const { rows } = await client.query<{ ours: boolean }>(
    `select exists (
      select
      from pg_auth_members
      join pg_roles as held on held.oid = pg_auth_members.roleid
      where pg_auth_members.member = pg_roles.oid
        and held.rolname like 'querymill_reader_%'
    ) and not rolsuper and not rolcreaterole as ours
    from pg_roles
    where rolname = $1`,
    [name],
  )
  if (rows[0]?.ours === false) {
    throw new Misuse(
      `expected an unused name or an analyst name, got ${name}, which is another role on the server; choose another name`,
    )
  }
  const there = rows[0] !== undefined
  const password = there ? null : randomBytes(18).toString('base64url')
  const role = client.escapeIdentifier(name)
  if (password !== null) {
    await client.query(`create role ${role} login password ${client.escapeLiteral(password)}`)
  }
  // Analysts may change these settings, which are only a convenience. The grants control access.
  await client.query(`
    grant ${reader} to ${role};
    -- Older releases made logins read-only by default, which blocked notes.
    alter role ${role} reset default_transaction_read_only;
    alter role ${role} set statement_timeout = '5min';
    alter role ${role} set work_mem = '64MB';
    alter role ${role} set jit = off;
    alter role ${role} set idle_in_transaction_session_timeout = '10min';
    alter role ${role} set search_path = analysis, public, notes, scratch;
    alter role ${role} connection limit ${analystConnections};
  `)
  const { rows: own } = await client.query<{ all: boolean }>(
    'select rolsuper as all from pg_roles where rolname = current_user',
  )
  // Only a superuser can set or lift this limit.
  if (own[0]?.all === true) await client.query(`alter role ${role} set temp_file_limit = '4GB'`)
  return { name, password }
}

async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const result = await work(client)
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
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

/** True for errors that deny permission or reject a write in a read-only transaction. */
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

/** All other tables, which hold internal bookkeeping such as worker states and balances. */
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
