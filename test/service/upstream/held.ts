import { FairQueue } from '../../../src/service/upstream/fair-queue.ts'
import type { Answered, Provider } from '../../../src/service/stored-answers.ts'

/** A provider with two slots, whose searches last as long as the test wants. */
export interface HeldProvider extends Provider {
  /** The queries of all searches that began, in order. */
  readonly asked: string[]
  /** Delays every answer until this is done. A rejection is the error of the provider. */
  hold(until: () => Promise<unknown>): void
}

/** Opens the provider with the queue of the service; at first, it answers at once. */
export function openHeld(): HeldProvider {
  const queue = new FairQueue({ places: 2, placesPerAccount: 2, waitingPerAccount: 256 })
  const asked: string[] = []
  let held: () => Promise<unknown> = () => Promise.resolve()
  return {
    name: 'held',
    asked,
    hold: (until) => (held = until),
    answer(search, { account, signal, gone, deadline }) {
      const turn = { account, deadline, signal: AbortSignal.any([signal, gone]) }
      return queue.run(turn, async () => {
        asked.push(search.q)
        await held()
        return answered
      })
    },
  }
}

const answered: Answered = {
  answer: {
    intent: 'informational',
    sentiment: 'neutral',
    clusters: [],
    entities: [],
    organic_results: [
      {
        position: 1,
        title: 'Result 1',
        url: 'https://site.example/1',
        snippet: 'What page 1 says about gardens.',
        domain: 'site.example',
      },
    ],
    related_searches: [],
  },
  ignored: [],
}
