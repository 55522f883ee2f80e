import { pause } from '../../shared/waiting.ts'
import { troubleOf } from '../trouble.ts'

const waitMs = 250
/** A large list is planned within some minutes: whoever waits for that gives up later. */
const mostTries = 1_200

/** Does a portion again that met somebody who writes the same rows, or plans a list. */
export async function patiently<T>(change: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await change()
    } catch (error) {
      if (tries === mostTries || troubleOf(error) !== 'conflict') throw error
    }
    await pause(waitMs)
  }
}
