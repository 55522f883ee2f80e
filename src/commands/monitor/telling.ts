import { tellNews, type NewsOptions } from './news.ts'
import { within } from '../../shared/waiting.ts'
import type { Database } from '../../store/database.ts'
import { reasonOf } from '../../shared/errors.ts'

/** Tells news now and then, one telling at a time; work never waits for it. */
export function startTelling(
  db: Database,
  { everyMs, ...options }: NewsOptions & { readonly everyMs: number },
): { close: () => Promise<void> } {
  let telling: Promise<unknown> | null = null
  let away = false
  const tellAll = async () => {
    try {
      await tellNews(db, options)
      away = false
    } catch (error) {
      // Said once: work goes on without news, and so do the tries.
      if (!away) options.tell(`news cannot be read: ${reasonOf(error)}`)
      away = true
    }
  }
  const round = () => {
    telling ??= tellAll().finally(() => {
      telling = null
    })
    return telling
  }
  const timer = setInterval(() => void round(), everyMs)
  // What happened in the last moments, such as the end of the run, goes out as well.
  const lastRound = async () => {
    await telling
    await round()
  }
  return {
    close: async () => {
      clearInterval(timer)
      await within(lastRound(), { ms: everyMs })
    },
  }
}
