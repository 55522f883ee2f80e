// await refuse(mill, 'searches', { code: '22023', when: 'new.id = 7' }): makes the server reject rows for a table;
// `allow` ends this.
import { sql } from 'kysely'
import type { Database } from '../../src/base/database/database.ts'

interface Refusing {
  readonly db: Database
}

/** Makes the server reject rows for a table with this code, as long as the condition holds. */
export async function refuse(
  { db }: Refusing,
  table: string,
  { code, when = 'true' }: { code: string; when?: string },
): Promise<void> {
  await sql
    .raw(
      `create function refuse_${table}() returns trigger language plpgsql as
       $$ begin
         if ${when} then raise exception 'refused' using errcode = '${code}'; end if;
         return new;
       end $$;
       create trigger refuse before insert on ${table} for each row execute function refuse_${table}()`,
    )
    .execute(db)
}

/** Accepts the rows again. */
export async function allow({ db }: Refusing, table: string): Promise<void> {
  await sql.raw(`drop function refuse_${table}() cascade`).execute(db)
}
