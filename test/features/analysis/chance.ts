// const days = await tellByChance(story, { seed, days: 12 }) → a history with failed, missing, reused, empty and
// shallow answers to six queries of several labels, devices and weights, of two origins and APIs, around the end of a
// month.
import { dice } from './oracle.ts'
import type { Answers, Story } from './story.ts'

/** Queries of every history, with their device, labels and weight. */
const asked = [
  { q: 'shoes', weight: 7, tags: ['red'] },
  { q: 'boots @m', device: 'mobile', tags: ['red', 'new'] },
  { q: 'boots @d', device: 'desktop', weight: 3, tags: ['new'] },
  { q: 'hats', weight: 2 },
  { q: 'socks', tags: ['red'] },
  { q: 'gloves', device: 'mobile' },
] as const

type Told = Readonly<{ seed: number; days: number; domains?: number; restless?: number }>

const start = Date.parse('2026-01-25T00:00:00Z')

/** Creates it; returns its days. With fewer domains and less volatility, pages stay longer. */
export async function tellByChance(story: Story, told: Told): Promise<readonly string[]> {
  const { seed, days: count, domains = 7, restless = 3 } = told
  const roll = dice(seed)
  for (const { q, ...said } of asked) story.says(q, said)
  const days = Array.from({ length: count + roll(3) }, (_, n) =>
    new Date(start + n * 86_400_000).toISOString().slice(0, 10),
  ).filter((_, n) => n === 0 || roll(8) > 0)
  const shown = new Map<string, string[]>()
  for (const day of days) {
    const answers: Record<string, Answers[string]> = {}
    for (const { q } of asked) {
      const kind = roll(11)
      if (kind === 0) answers[q] = 'failed'
      else if (kind === 1) answers[q] = 'reused'
      else if (kind === 10) answers[q] = 'not_asked'
      else if (kind === 2) answers[q] = { results: [], depth: 0 }
      else if (kind > 3) {
        shown.set(q, stir(shown.get(q) ?? [], { roll, domains, restless }))
        const results = shown.get(q) ?? []
        const labels = { intent: results[0] ?? '', related: results.slice(1, 3) }
        answers[q] =
          roll(4) === 0
            ? { results: results.slice(0, 3), ...labels }
            : { results, depth: 12, ...labels }
      }
    }
    const origin = roll(9) === 0 ? 'sandbox' : 'live'
    const api = roll(9) === 0 ? 'other.example.com' : 'api.example.com'
    await story.night(day, answers, { origin, api })
  }
  return days
}

interface Stirring {
  readonly roll: (sides: number) => number
  readonly domains: number
  readonly restless: number
}

/** The same addresses with some moved, removed or added. */
function stir(before: readonly string[], { roll, domains, restless }: Stirring): string[] {
  const results = before.length === 0 ? [] : [...before]
  for (let change = roll(restless + 1); change > 0 || results.length < 5; change--) {
    const place = roll(results.length + 1)
    if (results.length > 5 && roll(2) === 0) results.splice(place % results.length, 1)
    const address = `${roll(4) === 0 ? 'www.' : ''}d${roll(domains)}.com/${roll(3)}`
    if (!results.includes(address)) results.splice(place, 0, address)
  }
  return results.slice(0, 12)
}
