import type { Crew } from './crew.ts'
import type { Site } from './site.ts'
import { floor } from './strikes.ts'
import type { Look } from './lookout.ts'
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
