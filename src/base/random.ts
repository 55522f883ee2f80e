// Deterministic random numbers, seeded with a string.

export type Random = () => number

/** Returns a random number generator for [0, 1), good enough for generated answers but not for secrets. */
export function seeded(text: string): Random {
  let [a, b, c, d] = spread(text)
  return () => {
    // sfc32 is small and fast, and passes the usual statistical tests.
    const sum = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 4_294_967_296
  }
}

/** Computes a number in [0, 1) from a string. */
export function fraction(text: string): number {
  return (spread(text)[0] >>> 0) / 4_294_967_296
}

export function pick<T>(random: Random, items: readonly [T, ...T[]]): T {
  return items[Math.floor(random() * items.length)] ?? items[0]
}

function spread(text: string): [number, number, number, number] {
  let [a, b, c, d] = [1_779_033_703, 3_144_134_277, 1_013_904_242, 2_773_480_762]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    a = b ^ Math.imul(a ^ code, 597_399_067)
    b = c ^ Math.imul(b ^ code, 2_869_860_233)
    c = d ^ Math.imul(c ^ code, 951_274_213)
    d = a ^ Math.imul(d ^ code, 2_716_044_179)
  }
  a = Math.imul(c ^ (a >>> 18), 597_399_067)
  b = Math.imul(d ^ (b >>> 22), 2_869_860_233)
  c = Math.imul(a ^ (c >>> 17), 951_274_213)
  d = Math.imul(b ^ (d >>> 19), 2_716_044_179)
  return [a ^ b ^ c ^ d, b ^ a, c ^ a, d ^ a]
}
