import type { Database } from '../../../store/database.ts'
import type { AlertRule } from '../../../store/nights/alert-rules.ts'
import type { NewAlert, UnlookedRun } from '../../../store/nights/alerts.ts'
import { readHolders, type AskedQuery, type RankAnswer } from '../../../store/nights/sights.ts'
import { alertQuestion, alertSentence } from './words.ts'
import type { Sight, Direction } from './change.ts'
import type { SeenPlaces, AlertSubject } from './subjects.ts'

/** A change that was found, before anybody is named who took the place. */
export interface FoundChange {
  readonly rule: AlertRule
  readonly query: AskedQuery
  readonly key: string
  readonly subject: AlertSubject
  readonly way: Direction | null
  readonly base: RankAnswer
  readonly now: RankAnswer
  readonly sights: { readonly base: Sight; readonly now: Sight }
}

/** Finds out who took each place, or whose it was, and puts everything into words. */
export async function putIntoWords(
  trx: Database,
  { run, places }: { readonly run: UnlookedRun; readonly places: SeenPlaces },
  found: readonly FoundChange[],
): Promise<readonly NewAlert[]> {
  const sought = found.map(soughtPlace).filter((place) => place !== null)
  const holders = await readHolders(trx, sought)
  return found.map((one) => {
    const { rule, query, key, subject, way, base, now, sights } = one
    const place = soughtPlace(one)
    const holder = holders.find(
      (held) => held.search_id === place?.search_id && held.position === place.position,
    )
    const other =
      subject.rival ?? (holder?.domain === subject.domain ? null : holder?.domain) ?? null
    const page = places.get(now.search_id)?.get(subject.domain ?? '')?.page ?? null
    const told = {
      ...{ rule, query, subject, way, other, page, ...sights },
      ...{ origin: now.origin, baseDate: base.run_date, date: now.run_date },
    }
    return {
      ...{ rule: rule.name, what: rule.what, subject: key, list: run.list, tag: rule.tag },
      ...{ query_id: query.query_id, domain: subject.domain, other_domain: other },
      ...{ feature: subject.feature, direction: way, origin: now.origin },
      ...{ base_run_id: base.run_id, base_run_date: base.run_date, base_search_id: base.search_id },
      ...{ previous_position: sights.base.position, previous_share: null },
      ...{ run_id: now.run_id, run_date: now.run_date, search_id: now.search_id },
      ...{ position: sights.now.position, share: null },
      ...{ said: alertSentence(told), question: alertQuestion(told) },
    }
  })
}

/** For a loss the old place in the newer answer, for a gain the new place in the older one. */
function soughtPlace({ rule, way, base, now, sights }: FoundChange) {
  const gain = rule.what === 'entered' || way === 'up'
  const answer = gain ? base : now
  const position = gain ? sights.now.position : sights.base.position
  const moves = ['entered', 'left', 'moved', 'crossed'].includes(rule.what)
  return moves && position !== null ? { search_id: answer.search_id, position } : null
}
