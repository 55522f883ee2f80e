// Quarantine: stores judgements, and the manual decisions that override them.

import type { Database } from '../../base/database/database.ts'
import type { Insertable } from '../../base/database/kysely.ts'
import type { DB } from '../../base/database/schema.ts'
import { readRows } from '../../base/database/sql-file.ts'
import type { Doubt } from './evidence.ts'
import type { JudgedNight, NightJudgement } from './health.ts'

interface RunJudgement {
  readonly night: JudgedNight
  readonly judgement: NightJudgement
  readonly evidence: readonly Omit<Insertable<DB['night_evidence']>, 'run_id'>[]
  readonly doubts: readonly Doubt[]
}

/** Stores the judgement of a run, including people's decisions, and returns it. */
export async function saveJudgement(
  db: Database,
  { night, evidence, doubts, ...rules }: RunJudgement,
) {
  return db.transaction().execute(async (trx) => {
    const run = night.run_id
    const marks = await readStandingMarks(trx, run)
    const judgement = decided(run, rules.judgement, marks)
    const { reasons, remarks, usualFrom } = judgement
    await trx
      .updateTable('runs')
      .set({ suspect: reasons.length > 0 })
      .where('id', '=', run)
      .execute()
    const { paid_refusal: _refused, other_query: _other, doubted: _doubted, ...figures } = night
    const said = { reasons: [...reasons], remarks: [...remarks], usual_from: usualFrom }
    const health = { ...figures, ...said }
    await trx
      .insertInto('night_health')
      .values(health)
      .onConflict((conflict) =>
        conflict
          .column('run_id')
          .doUpdateSet((row) => ({ ...health, judged_at: row.ref('excluded.judged_at') })),
      )
      .execute()
    await trx.deleteFrom('night_evidence').where('run_id', '=', run).execute()
    if (evidence.length > 0) {
      const rows = evidence.map((one) => ({ ...one, run_id: run }))
      await trx.insertInto('night_evidence').values(rows).execute()
    }
    const whole = marks.find(({ search_id: answer }) => answer === null)
    const single = whole === undefined ? doubts : []
    const why = reasons[0] ?? null
    const quarantined = await fillQuarantine(trx, { run, marks }, { why, single })
    return { ...judgement, quarantined }
  })
}

type StandingMark = Awaited<ReturnType<typeof readStandingMarks>>[number]

/** Reads the manual decisions in force: the newest decision for the run and the newest for each answer. */
async function readStandingMarks(trx: Database, run: number) {
  return trx
    .selectFrom('trust_marks')
    .distinctOn('search_id')
    .select(['search_id', 'trusted', 'usual', 'reason', 'made_by'])
    .where('run_id', '=', run)
    .where('undone_at', 'is', null)
    .orderBy('search_id')
    .orderBy('id', 'desc')
    .execute()
}

/** Verdict from the rules, or from a person who overrode them. After an override, the rules' reasons become remarks. */
function decided(run: number, judgement: NightJudgement, marks: readonly StandingMark[]) {
  const mark = marks.find(({ search_id: answer }) => answer === null)
  if (mark === undefined) return judgement
  const said = `${mark.trusted ? 'trusted' : 'not trusted'} by ${mark.made_by}: ${mark.reason}`
  return {
    reasons: mark.trusted ? [] : [said],
    remarks: [...(mark.trusted ? [said] : []), ...judgement.reasons, ...judgement.remarks],
    usualFrom: mark.usual ? run : judgement.usualFrom,
  }
}

/** Updates the quarantine of the run's answers. Returns the number of quarantined answers in the run. */
async function fillQuarantine(
  trx: Database,
  { run, marks }: { run: number; marks: readonly StandingMark[] },
  { why, single }: { why: string | null; single: readonly Doubt[] },
) {
  const one = marks.flatMap(({ search_id: answer, ...mark }) =>
    answer === null ? [] : [{ ...mark, search_id: answer, score: null }],
  )
  const released = one.filter(({ trusted }) => trusted).map(({ search_id: id }) => id)
  const distrusted = one
    .filter(({ trusted }) => !trusted)
    .map((mark) => ({ ...mark, reason: `not trusted by ${mark.made_by}: ${mark.reason}` }))
  const held = [...distrusted, ...single].filter(({ search_id: id }) => !released.includes(id))
  const kept = held.map(({ search_id: id }) => id)
  const [filled] = await readRows<{ quarantined: number }>(trx, 'fill_quarantine', {
    kept,
    reasons: held.map(({ reason }) => reason),
    scores: held.map(({ score }) => score),
    why,
    run,
    released,
  })
  return filled?.quarantined ?? 0
}
