const syllables = 'ka lo mi ren tas vo shi pel dor an gri tum bel ex ora quin fal ste mu ner'.split(
  ' ',
)

/** The same numbers on every machine. */
class Dice {
  #seed: number

  constructor(seed: number) {
    this.#seed = seed
  }

  next(): number {
    this.#seed = (Math.imul(this.#seed, 1_664_525) + 1_013_904_223) >>> 0
    return this.#seed / 4_294_967_296
  }

  /** Returns a number below `most`. Small numbers are far more frequent, as with hosts and words. */
  skewed(most: number): number {
    return Math.floor(most * this.next() ** 4)
  }
}

const vocabulary = (() => {
  const dice = new Dice(1)
  return Array.from({ length: 6000 }, () =>
    Array.from(
      { length: 1 + Math.floor(dice.next() * 3) },
      () => syllables[Math.floor(dice.next() * syllables.length)] ?? '',
    ).join(''),
  )
})()

/** A generated answer of about four kilobytes: 10 results, 5 entities, 3 clusters, 8 related searches. */
export function sampleBody(number: number, q = `query ${number}`): Buffer {
  const dice = new Dice(number + 7919)
  const words = (count: number) =>
    Array.from({ length: count }, () => vocabulary[dice.skewed(vocabulary.length)] ?? '').join(' ')
  const times = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index))
  return Buffer.from(
    JSON.stringify({
      success: true,
      query: q,
      intent: 'informational',
      sentiment: 'neutral',
      clusters: times(3, () => `cluster ${dice.skewed(500)}`),
      entities: times(5, () => {
        const entity = dice.skewed(20_000)
        return { name: `Entity ${entity}`, type: `type ${entity % 7}` }
      }),
      organic_results: times(10, (index) => {
        const domain = `www.site-${dice.skewed(20_000)}.example.com`
        return {
          position: index + 1,
          title: words(8),
          url: `https://${domain}/${words(1)}/${words(1)}-${Math.floor(dice.next() * 1e6)}`,
          snippet: words(30),
          domain,
        }
      }),
      related_searches: times(8, () => `${words(2)} ${dice.skewed(100_000)}`),
      credits_used: 1,
      credits_remaining: 1_000_000 - number,
    }),
  )
}
