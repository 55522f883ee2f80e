import { answer, type Outcome, type Steps, type Task } from '../../pipeline.ts'
import type { Reply } from '../../search/call.ts'
import type { Database } from '../../store/database.ts'
import {
  anyLost,
  claimLost,
  saveReplay,
  takeTurn,
  type LostAnswer,
} from '../../store/ledger/again.ts'

export interface LostAnswersOptions {
  readonly db: Database
  readonly account: number
  readonly steps: Steps
  /** Requests that may begin in a second, over all workers; null: as many as there are. */
  readonly perSecond: number | null
  /** Lanes that are free for a call. */
  readonly free: () => number
  readonly onTrouble: (error: unknown) => void
  readonly onEnded: (task: Task, state: string) => void
}

const everyMs = 500

/**
 * Asks again for answers that were lost on their way, where the API says that it gives the same answer to the same key
 * and charges it once: what nobody could know elsewhere is known here, and nothing is bought twice for it.
 */
export class LostAnswers {
  readonly #options: LostAnswersOptions
  readonly #timer: NodeJS.Timeout
  /** Undefined before the first answer: the tables know what the workers before this one heard. */
  #replayMs: number | null | undefined = undefined
  #looking = false
  #ended = false

  constructor(options: LostAnswersOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.#look(), everyMs)
  }

  /** Learns from an answer whether, and for how long, it could be had again. */
  hear(reply: Reply): void {
    if (reply.kind !== 'response' || reply.replayMs === this.#replayMs) return
    // What stands before the API and answers in its place cannot say that it does not.
    if (reply.replayMs === null && reply.status !== 200) return
    this.#replayMs = reply.replayMs
    const { db, account, onTrouble } = this.#options
    saveReplay(db, account, reply.replayMs).catch((error: unknown) => {
      this.#replayMs = undefined
      onTrouble(error)
    })
  }

  /** True while an answer is lost and may come yet: a drain waits for it. */
  async hopes(): Promise<boolean> {
    return this.#replayMs !== null && (await anyLost(this.#options.db, this.#options.account))
  }

  /** Asks for nothing further. */
  end(): void {
    this.#ended = true
    clearInterval(this.#timer)
  }

  async #look(): Promise<void> {
    const { db, account, free, perSecond, onTrouble } = this.#options
    const lanes = free()
    if (this.#looking || this.#replayMs === null || lanes <= 0) return
    this.#looking = true
    try {
      if (perSecond !== null && !(await takeTurn(db, { account, perSecond }))) return
      const lost = await claimLost(db, { account, limit: perSecond === null ? lanes : 1 })
      if (!this.#ended) for (const one of lost) void this.#ask(one)
    } catch (error) {
      onTrouble(error)
    } finally {
      this.#looking = false
    }
  }

  async #ask(lost: LostAnswer): Promise<void> {
    const { steps, onTrouble, onEnded } = this.#options
    const { call, mark, task: id, run, priority, query, query_id: queryId } = lost
    const task = { id, run, priority, class: lost.class, query, queryId }
    const asked = { ...task, suspect: false, refused: false }
    try {
      const outcome = await answer(asked, { id: call, mark }, { ...steps, store: this.#store })
      onEnded(asked, outcome.state)
    } catch (error) {
      onTrouble(error)
    }
  }

  /** Only an answer says what became of the first request: a refusal of this one may have come before anything looked. */
  readonly #store: Steps['store'] = async (bought): Promise<Outcome> => {
    if (bought.verdict.kind === 'answered') return this.#options.steps.store(bought)
    return { state: 'open', waitMs: null }
  }
}
