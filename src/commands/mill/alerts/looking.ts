import type { AlertRule } from '../../../store/nights/alert-rules.ts'
import type { NewAlert, Recovery, UnlookedRun } from '../../../store/nights/alerts.ts'

/** A run to look at, and the rules that look. */
export interface AlertOrder {
  readonly run: UnlookedRun
  readonly rules: readonly AlertRule[]
}

/** What a look at one run comes to. */
export interface AlertLook {
  readonly raised: readonly NewAlert[]
  readonly recovered: readonly Recovery[]
}
