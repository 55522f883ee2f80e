import { constants } from '../../../src/core/ledger/account.ts'
import type { GrantedCall } from '../../../src/core/ledger/admission.ts'
import { promise } from './promise.ts'
import type { Row, World } from './world.ts'

/** Checks that enough credits are reserved, according to the prices in the rows. */
export function checkBound(
  { rows }: World,
  { class: name, bound }: GrantedCall,
  earlier: readonly Row[],
): void {
  const priced = rows.filter((row) => row.priced)
  const seen = priced.filter((row) => row.class === name).map(({ used }) => used)
  if (seen.length === 0) {
    const least = Math.max(...priced.map(({ used }) => 2 * used))
    const enough = priced.length === 0 ? constants.firstBound : least
    promise(bound >= enough, () => `an unseen class was bound to ${bound}`)
    const tries = earlier.filter((row) => row.class === name).length
    promise(tries === 0, () => 'two calls of a class never seen are in flight')
    return
  }
  const young = seen.length < constants.trustedAfter
  const dearest = Math.max(1, ...seen)
  const expected = young ? dearest : lately(priced, name, earlier.length === 0)
  promise(bound >= expected, () => `a call that may cost ${expected} was bound to ${bound}`)
  promise(
    !young || earlier.length === 0 || bound >= Math.max(10, 4 * dearest),
    () => 'a young class was not widened',
  )
}

/** The highest of the last prices. A call that goes out alone may ignore an outlier. */
function lately(priced: readonly Row[], name: string, alone: boolean): number {
  const last = priced
    .filter((row) => row.class === name)
    .toSorted((a, b) => b.pricedAt - a.pricedAt)
    .slice(0, constants.trustedAfter)
    .map(({ used }) => used)
    .toSorted((a, b) => b - a)
  const [first = 1, second = 1] = last
  return Math.max(1, alone && first >= constants.oddFactor * second ? second : first)
}

/** Checks that calls begin no faster than the settings allow. */
export function checkRate({ plan, starts, now }: World): void {
  const { rateLimit } = plan
  if (rateLimit === null) return
  const last = starts.slice(-40)
  last.forEach((start, index) => {
    const apart = (last.length - index) * (1000 / rateLimit)
    promise(now - start >= apart - 21, () => 'calls begin faster than the limit')
  })
}
