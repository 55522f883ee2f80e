// const { mill, clerk, hire, reserveCall, callOf } = await openLedger(): open tasks in a database; `hire()` opens the
// lease of a worker, `reserveCall(lease)` reserves a call that is never sent, `callOf(call)` reads its outcome.
import { sql } from 'kysely'
import { openAccount } from '../../../src/core/ledger/books.ts'
import { reserve } from '../../../src/core/ledger/reserve.ts'
import type { CallName, SettlementRules } from '../../../src/core/ledger/settle.ts'
import { Lease } from '../../../src/core/ledger/leases.ts'
import { spenderOf } from '../../../src/core/worker/worker.ts'
import { openScene, queries, type Scene } from '../../support/scene.ts'

interface CallState {
  readonly outcome: string | null
  readonly task: string
  readonly deaths: number
  readonly attempts: number
}

export interface Ledger extends Scene {
  readonly clerk: SettlementRules
  readonly hire: (leaseMs?: number) => Promise<Lease>
  readonly reserveCall: (lease: Lease) => Promise<CallName>
  readonly callOf: (call: CallName) => Promise<CallState | undefined>
}

export async function openLedger(settings: Record<string, string> = {}): Promise<Ledger> {
  const scene = await openScene({ settings })
  const { mill } = scene
  const { db, supplier } = mill
  await mill.plan(queries(2))
  const account = await openAccount(db, { name: supplier.account, kind: supplier.origin })
  const key = 'fingerprint'
  const clerk = { account, key, floor: 0, rebuy: true }
  return {
    ...scene,
    clerk,
    hire: (leaseMs = 60_000) => Lease.open({ db, account, floor: 0, lanes: 4, leaseMs }),
    reserveCall: async ({ worker }) => {
      const spender = spenderOf(mill, { account, worker, key })
      const { rows } = await sql<{ id: number }>`select min(id) as id from tasks`.execute(db)
      const wanted = { task: rows[0]?.id ?? 0, class: '10/-', priority: 5 }
      const { granted } = await reserve(db, spender, [wanted])
      const [call] = granted.values()
      if (call === undefined) throw new Error('expected the gate to grant a call, got none')
      return call
    },
    callOf: async ({ id }) => {
      const { rows } = await sql<CallState>`
        select c.outcome, t.state as task, t.deaths, t.attempts
        from calls c join tasks t on t.id = c.task_id
        where c.id = ${id}`.execute(db)
      return rows[0]
    },
  }
}

/** The worker's machine slept through its lease. */
export async function outlive({ mill }: Ledger, { worker }: Lease): Promise<void> {
  await sql`
    update workers set lease_until = clock_timestamp() - interval '1 second'
    where id = ${worker}`.execute(mill.db)
}
