import { listAlerts, type AlertRow } from '../../../../store/operator/alerts.ts'
import { readCrew, type LiveWorker } from '../../../../store/operator/crew.ts'
import { listNotices, type NoticeRow } from '../../../../store/operator/notices.ts'
import { readTables, type MillState } from '../../../status/look.ts'
import type { DeskReading } from '../../page.ts'

/** The state of the mill as `status` has it, the queue aside, with who works and what was told. */
export interface TonightFound extends Omit<MillState, 'queue'> {
  readonly crew: readonly LiveWorker[]
  readonly notices: readonly NoticeRow[]
  readonly alerts: readonly AlertRow[]
}

const shownNews = 6

/** One moment of the tables; the outlook, which is dear, may be some seconds older. */
export async function readTonight(reading: DeskReading): Promise<TonightFound> {
  const outlook = await reading.outlook()
  return reading.books(async (db) => ({
    ...(await readTables({ ...reading.mill, db }, null)),
    outlook,
    crew: await readCrew(db),
    notices: await listNotices(db, shownNews),
    alerts: await listAlerts(db, { id: null, rule: null, standing: false, limit: shownNews }),
  }))
}
