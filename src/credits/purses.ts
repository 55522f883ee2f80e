import type { RunPurse } from './admission.ts'
import type { Obstacle } from './limits.ts'

/** True when nothing that is on its way can make room any more: what the run leaves open is unaffordable. */
export function isSpent(obstacle: Obstacle): boolean {
  return obstacle === 'run_spent' || obstacle === 'list_spent'
}

/** Sets credits aside for a call of a run: all runs that share the purse of its list see it. */
export function takeFrom(purses: Map<number, RunPurse>, run: number, bound: number): void {
  const key = purses.get(run)?.list?.key
  for (const [id, { list, ...purse }] of purses) {
    const shares = list !== null && list.key === key
    purses.set(id, {
      ...purse,
      reserved: purse.reserved + (id === run ? bound : 0),
      list: shares ? { ...list, reserved: list.reserved + bound } : list,
    })
  }
}
