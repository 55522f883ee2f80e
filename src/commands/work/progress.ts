import { count, spanText } from '../../shared/terminal/wording.ts'

/** How far a worker is. */
export interface WorkProgress {
  /** Tasks that this worker has brought to an end. */
  readonly done: number
  /** Open tasks of all runs; null until they have been counted. */
  readonly left: number | null
  /** Tasks that all workers end in a second. */
  readonly perSecond: number
  readonly flying: number
  /** Balance by the newest answer. */
  readonly remaining: number | null
  /** What may still be spent, and what ends it; null while nobody knows. */
  readonly purse: Spendable | null
  /** What an answer has cost on average; null before the first. */
  readonly price: number | null
  /** Why nothing is bought right now. */
  readonly still: string | null
}

/** What may be spent before something ends it. */
export interface Spendable {
  readonly credits: number
  readonly end:
    | 'the floor is met'
    | 'the budget of the day is used up'
    | 'the budget of the month is used up'
}

/** One line: done, left, pace, how long still, and where money ends it. */
export function describeProgress(standing: WorkProgress): string {
  const { done, left, perSecond, flying, remaining, still } = standing
  const pace = perSecond > 0 ? [`${rounded(perSecond)}/s`] : []
  return [
    left === null ? `${done} done` : `${done} done, ${left} left`,
    ...pace,
    ...(still === null ? toGo(standing) : []),
    ...(flying === 0 ? [] : [`${flying} in flight`]),
    ...(remaining === null ? [] : [`${count(remaining, 'credit')} left`]),
    ...(still === null ? [] : [`stands still: ${still}`]),
  ].join(' · ')
}

/** Until all is done, or until money ends it: whichever comes first. */
function toGo({ left, perSecond, purse, price }: WorkProgress): string[] {
  if (left === null || left === 0) return []
  const lasting = (tasks: number) => (perSecond > 0 ? spanText(tasks / perSecond) : null)
  const reach = purse === null || price === null || price === 0 ? null : purse.credits / price
  if (purse !== null && reach !== null && reach < left) {
    const answers = Math.max(0, Math.floor(reach))
    const time = lasting(answers)
    const when = time === null ? '' : `, in ${time}`
    return [`${purse.end} after ${count(answers, 'more answer')}${when}`]
  }
  const time = lasting(left)
  return time === null ? [] : [`${time} to go`]
}

function rounded(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond))
}
