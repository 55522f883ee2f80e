// Stores the forecast for views and metrics, and refreshes it while a process runs.

import { clock, secondsBetween, secondsOf } from '../../base/database/clock.ts'
import type { Database } from '../../base/database/database.ts'
import { sql } from '../../base/database/kysely.ts'
import type { Mill, Supplier } from '../mill.ts'
import { creditsOfDay, type CreditForecast, forecastJson, readCreditForecast } from './foresee.ts'

type ForecastMill = Pick<Mill, 'db' | 'config' | 'supplier'>

const lookEveryMs = 60_000
const refreshEveryMs = 300_000
/** The forecast may use at most a twentieth of the running time. */
const forecastRestShare = 20
const shownDays = 30

/** Computes and stores the forecast for `analysis.forecast`, unless a recent one exists. */
export async function refreshForecast(mill: ForecastMill, { now = false } = {}): Promise<boolean> {
  const { db, supplier } = mill
  // A test account never runs out of credits.
  if (supplier.origin === 'test') return false
  const account = await claimForecast(db, supplier, now)
  if (account === null) return false
  await storeForecast(db, account, await readCreditForecast(mill, { days: shownDays }))
  return true
}

export function startForecast(mill: ForecastMill): { close(): Promise<void> } {
  let looking: Promise<unknown> = Promise.resolve()
  const look = () => {
    // Ignores failures, because outages are reported elsewhere and the view shows the forecast's age.
    looking = refreshForecast(mill).catch(() => undefined)
  }
  const timer = setInterval(look, lookEveryMs)
  look()
  return {
    close: async () => {
      clearInterval(timer)
      await looking
    },
  }
}

/** Claims the next forecast computation. Returns null if no computation is due, or if the account was never used. */
async function claimForecast(db: Database, { account, origin }: Supplier, now: boolean) {
  const everyMs = now ? 0 : refreshEveryMs
  const restShare = now ? 0 : forecastRestShare
  const claimed = await db
    .insertInto('forecasts')
    .columns(['account_id', 'asked_at'])
    .expression((eb) =>
      eb
        .selectFrom('accounts')
        .select(['id', clock.as('asked_at')])
        .where('name', '=', account)
        .where('kind', '=', origin),
    )
    .onConflict((conflict) =>
      conflict
        .column('account_id')
        .doUpdateSet((eb) => ({ asked_at: eb.ref('excluded.asked_at') }))
        .where(
          'forecasts.asked_at',
          '<',
          (eb) => sql<Date>`
            clock_timestamp() - greatest(${everyMs}, ${eb.ref('forecasts.took_ms')} * ${restShare}) * interval '1 millisecond'`,
        ),
    )
    .returning('account_id')
    .executeTakeFirst()
  return claimed?.account_id ?? null
}

/** A statement can have at most 65,535 parameters. */
const insertedAtOnce = 1000

async function storeForecast(db: Database, account: number, found: CreditForecast): Promise<void> {
  const { until, balance, observed_at, floor, missing, floor_at, steps } = forecastJson(found)
  const { outcome, now } = found
  const forecast = {
    ...{ until, balance, observed_at, floor, missing, floor_at },
    day_credits: outcome.kind === 'known' ? creditsOfDay(outcome.steps, now) : null,
  }
  await db.transaction().execute(async (trx) => {
    // Updates the row first, so that concurrent computations are serialised and their steps do not mix.
    await trx
      .updateTable('forecasts')
      .set((eb) => ({
        ...forecast,
        made_at: clock,
        took_ms: eb(secondsBetween(eb.ref('asked_at'), clock), '*', 1000),
      }))
      .where('account_id', '=', account)
      .execute()
    await trx.deleteFrom('forecast_steps').where('account_id', '=', account).execute()
    const rows = steps.map((step, nth) => ({ ...step, account_id: account, step: nth + 1 }))
    for (let from = 0; from < rows.length; from += insertedAtOnce) {
      await trx
        .insertInto('forecast_steps')
        .values(rows.slice(from, from + insertedAtOnce))
        .execute()
    }
  })
}

export function readStoredForecast(
  db: Database,
  { account, origin }: { readonly account: string; readonly origin: string },
) {
  return db
    .selectFrom('forecasts')
    .innerJoin('accounts', 'accounts.id', 'forecasts.account_id')
    .select((eb) => [
      secondsOf(eb.ref('forecasts.made_at')).$notNull().as('made_s'),
      'forecasts.day_credits',
      secondsBetween(clock, eb.ref('forecasts.floor_at')).as('floor_in_s'),
    ])
    .where('accounts.name', '=', account)
    .where('accounts.kind', '=', origin)
    .where('forecasts.made_at', 'is not', null)
    .executeTakeFirst()
}
