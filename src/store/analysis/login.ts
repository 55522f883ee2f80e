import { Misuse } from '../../shared/errors.ts'
import { openPool, type Pool } from '../database.ts'
import { only } from '../statement.ts'

/** Where an analyst's login leads, and who opens it. */
interface LoginOrder {
  readonly url: string
  /** What `pg_stat_activity` shows. */
  readonly name: string
  readonly max: number
  /** The database that it has to be one of. */
  readonly installation: string
}

/** A pool of an analyst's login: whatever is asked over it can do no more than that login, whoever it makes itself. */
export async function openAnalyst({ url, installation, ...options }: LoginOrder): Promise<Pool> {
  const pool = openPool(url, { ...options, reading: true })
  try {
    const { login, database, more } = await look(pool)
    if (database !== installation) throw refused('the database of DATABASE_URL', 'another one')
    if (more) throw refused('a login that may only read answers', `${login}, which may do more`)
    return pool
  } catch (error) {
    await pool.end()
    throw error
  }
}

function refused(expected: string, got: string): Misuse {
  return new Misuse(
    `expected MILL_ANALYST_URL to lead to ${expected}, got ${got}; npm run migrate -- --analyst NAME makes a login and prints its address`,
  )
}

interface Login {
  readonly login: string
  readonly database: string
  /** True: it may read or change what is the mill's alone, or become somebody who may. */
  readonly more: boolean
}

async function look(pool: Pool): Promise<Login> {
  const { rows } = await pool.query<Login>(`
    select
      current_user::text as login,
      (select id::text from public.installation) as database,
      rolsuper or rolcreaterole
        or pg_has_role(current_user, (select relowner from pg_class where oid = 'public.calls'::regclass), 'member')
        or has_table_privilege('public.accounts', 'select')
        or has_table_privilege('public.calls', 'update') as more
    from pg_roles
    where rolname = current_user`)
  return only(rows)
}
