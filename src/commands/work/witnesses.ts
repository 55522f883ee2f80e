import type { Bought } from '../../pipeline.ts'
import type { Verdict } from '../../search/verdict.ts'

/** Remembers which calls began when, so that a refused key can be held against answers that the same key got. */
export class Witnesses {
  /** Calls on their way, by task, in the order in which they began. */
  readonly #begun = new Map<number, number>()
  /** Tasks whose call was answered with a refused key, and when the first such call began. */
  readonly #refused = new Map<number, number>()
  readonly #refutedBefore: (task: number) => Promise<boolean>
  #count = 0
  #newestAnswered = 0
  #wake: (() => void)[] = []

  /** `refutedBefore` tells what other processes saw: the key was answered after it had seemed refused for this task. */
  constructor(refutedBefore: (task: number) => Promise<boolean> = async () => false) {
    this.#refutedBefore = refutedBefore
  }

  /** The call of a task is sent now. */
  begin(task: number): void {
    this.#count += 1
    this.#begun.set(task, this.#count)
  }

  /**
   * What a reply means once those are heard that began after it: a key that was answered later was not refused, the
   * query was. Waits for no longer than the calls that are on their way.
   */
  async hear({ task, verdict }: Bought): Promise<Verdict> {
    const began = this.#begun.get(task.id)
    this.#begun.delete(task.id)
    if (began === undefined) return verdict
    if (verdict.kind === 'answered') this.#newestAnswered = Math.max(this.#newestAnswered, began)
    for (const wake of this.#wake.splice(0)) wake()
    if (verdict.kind !== 'key_refused') return verdict
    // A query that was refused before, while others were answered since, is not believed a second time.
    const first = this.#refused.get(task.id) ?? began
    this.#refused.set(task.id, first)
    while (this.#newestAnswered < first && this.#anyAfter(first)) {
      await new Promise<void>((resolve) => this.#wake.push(resolve))
    }
    const refuted = this.#newestAnswered > first || (await this.#refutedBefore(task.id))
    return refuted ? { ...verdict, kind: 'blocked' } : verdict
  }

  #anyAfter(began: number): boolean {
    for (const other of this.#begun.values()) if (other > began) return true
    return false
  }
}
