const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const shortest = 3
const short = 4
const longest = 24

// How likely a slip is, of those that fingers make. Measured on nobody's typing: only their order is meant.
const likely = { swapped: 1, doubled: 1, undoubled: 1, leftOut: 0.7, neighbour: 0.8, tooMany: 0.6 }
const unlikely = 0.4
// The first letter is seldom the wrong one.
const atFirst = 0.7

const rows = ['qwertyuiop', 'asdfghjkl', 'zxcvbnm']
const keys = new Map(rows.flatMap((row, y) => Array.from(row, (letter, x) => [letter, { x, y }])))

/**
 * Every word one slip of the fingers away, and how likely the slip is: two letters changed about, one left out, one too
 * many, one wrong. Short words have too many neighbours: of them only the first two kinds of slip are put right, unless
 * the rest of the query says that they are words at all.
 */
export function misspellings(word: string, { bold = false } = {}): Map<string, number> {
  const found = new Map<string, number>()
  if (word.length < (bold ? shortest : short) || word.length > longest || !/^[a-z0-9]+$/.test(word))
    return found
  for (let at = 0; at <= word.length; at += 1) {
    const split = { head: word.slice(0, at), tail: word.slice(at) }
    const slips = [...changedAbout(split), ...leftOut(split)]
    if (word.length > (bold ? shortest : short)) slips.push(...tooMany(split), ...wrong(split))
    for (const [other, chance] of slips) {
      const weighed = at === 0 ? atFirst * chance : chance
      if (other !== word) found.set(other, Math.max(found.get(other) ?? 0, weighed))
    }
  }
  return found
}

interface Split {
  readonly head: string
  readonly tail: string
}
type Slip = readonly [word: string, chance: number]

function changedAbout({ head, tail }: Split): Slip[] {
  const [first, second] = tail
  if (first === undefined || second === undefined) return []
  return [[head + second + first + tail.slice(2), likely.swapped]]
}

function leftOut({ head, tail }: Split): Slip[] {
  return Array.from(letters, (letter) => {
    const twice = letter === head.at(-1) || letter === tail[0]
    return [head + letter + tail, twice ? likely.undoubled : likely.leftOut]
  })
}

function tooMany({ head, tail }: Split): Slip[] {
  const [first] = tail
  if (first === undefined) return []
  const twice = first === head.at(-1) || first === tail[1]
  return [[head + tail.slice(1), twice ? likely.doubled : likely.tooMany]]
}

function wrong({ head, tail }: Split): Slip[] {
  const [first] = tail
  if (first === undefined) return []
  return Array.from(letters, (letter) => [
    head + letter + tail.slice(1),
    areNeighbours(letter, first) ? likely.neighbour : unlikely,
  ])
}

function areNeighbours(one: string, other: string): boolean {
  const [a, b] = [keys.get(one), keys.get(other)]
  return a !== undefined && b !== undefined && Math.abs(a.x - b.x) <= 1 && Math.abs(a.y - b.y) <= 1
}
