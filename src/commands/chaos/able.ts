import type { Crew } from './crew.ts'
import type { Site } from './site.ts'
import { floor } from './strikes.ts'
import type { Look } from './lookout.ts'
import { witnessStand } from '../../store/operator/stand.ts'
import { witnessPace, type FleetPace } from '../../store/operator/witness.ts'

/** Below this the gate may wait for certainty: several of the dearest calls, and the first bound of a new account. */
const roomCredits = 60
/** Fewer tasks than this may be in the hands of workers that are struck. */
const fewTasks = 60

/** Which workers could settle something now; an account that was told to stop, or has too little, keeps its own idle. */
export async function lookAtFleet(site: Site, crew: Crew): Promise<Look> {
  const pace = await site.database.ask(witnessPace)
  if (pace.due < fewTasks) return { settled: pace.settled, able: new Set() }
  const rich = await withCredit(site, pace)
  const able = crew.free(pace.pids).filter(({ wallet }) => rich.has(wallet.name))
  return { settled: pace.settled, able: new Set(able) }
}

/** What there is to see when the fleet stands: the tables in sums, and what those said last who could work. */
export async function explainStand(site: Site, crew: Crew): Promise<string> {
  const { pids } = await site.database.ask(witnessPace)
  const words = crew
    .free(pids)
    .map((seat) => ({ account: seat.wallet.name, said: crew.words(seat) }))
  return JSON.stringify({ words, ...(await site.database.ask(witnessStand)) })
}

async function withCredit(site: Site, { accounts }: FleetPace): Promise<ReadonlySet<string>> {
  const able = new Set<string>()
  for (const { name, front } of site.wallets) {
    const account = accounts.find((one) => one.name === name)
    const { balance } = await front.sums()
    const bound = account?.bound ?? 0
    if (account?.stopped !== true && balance - floor - bound >= roomCredits) able.add(name)
  }
  return able
}
