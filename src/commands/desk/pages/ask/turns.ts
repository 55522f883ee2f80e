import { Misuse } from '../../../../shared/errors.ts'

/** Few questions at once: the desk has few connections, and its other pages need them. */
export class Turns {
  readonly #most: number
  #taken = 0

  constructor(most: number) {
    this.#most = most
  }

  /** Does some work while it has a turn; refuses it when all are taken. */
  async *during<T>(work: () => AsyncIterable<T>): AsyncGenerator<T> {
    if (this.#taken >= this.#most) {
      throw new Misuse(
        `expected at most ${this.#most} questions at once, and there are as many; ask again when one of them has ended`,
      )
    }
    this.#taken++
    try {
      yield* work()
    } finally {
      this.#taken--
    }
  }
}
