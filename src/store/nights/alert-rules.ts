import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

export const alertKinds = [
  'entered',
  'left',
  'moved',
  'crossed',
  'share_fell',
  'rival_passed',
  'new_feature',
  'wrong_page',
] as const

/** One rule of what is to be told. */
export interface AlertRule {
  readonly name: string
  readonly what: (typeof alertKinds)[number]
  readonly threshold: number | null
  readonly direction: 'up' | 'down' | null
  /** Name of the list; null: all. */
  readonly list: string | null
  readonly tag: string | null
  /** `*` is any; null: ours, or whatever the rule is about. */
  readonly domain: string | null
  readonly rival: string | null
  readonly feature: string | null
  /** Answers running that have to show the change. */
  readonly confirm: number
}

/** The rules in force, in the order of their file. */
export async function readAlertRules(db: Database): Promise<readonly AlertRule[]> {
  const { rows } = await sql<AlertRule>`
    select name, what, threshold, direction, list, tag, domain, rival, feature, confirm
    from alert_rules
    order by line, name`.execute(db)
  return rows
}

/** A rule that came, went or changed. */
export interface RuleChange {
  readonly change: 'removed' | 'added'
  readonly name: string
}

/**
 * Puts rules in force in place of those before, all of them or none. One that stays as it was goes on; what one that went
 * or changed has raised is taken back.
 */
export async function replaceAlertRules(
  db: Database,
  rules: readonly AlertRule[],
): Promise<readonly RuleChange[]> {
  return db.transaction().execute(async (trx) => {
    await sql`lock table alert_rules in share row exclusive mode`.execute(trx)
    const before = await readAlertRules(trx)
    const removed = before.filter((rule) => !has(rules, rule)).map(({ name }) => name)
    const added = rules.filter((rule) => !has(before, rule))
    await sql`delete from alert_rules where name = any(${removed}::text[])`.execute(trx)
    await sql`
      update alerts
      set withdrawn_at = now(), withdrawn_because = 'its rule was changed or taken out'
      where rule = any(${removed}::text[])
        and recovered_at is null
        and withdrawn_at is null`.execute(trx)
    if (added.length > 0) {
      const lines = added.map((rule) => ({ ...rule, line: 0 }))
      await trx.insertInto('alert_rules').values(lines).execute()
    }
    const names = rules.map(({ name }) => name)
    await sql`
      update alert_rules
      set line = array_position(${names}::text[], name)`.execute(trx)
    return [
      ...removed.map((name) => ({ change: 'removed' as const, name })),
      ...added.map(({ name }) => ({ change: 'added' as const, name })),
    ]
  })
}

function has(rules: readonly AlertRule[], sought: AlertRule): boolean {
  const cells = Object.entries(sought)
  return rules.some((rule) => {
    const others = new Map<string, unknown>(Object.entries(rule))
    return cells.every(([name, value]) => others.get(name) === value)
  })
}
