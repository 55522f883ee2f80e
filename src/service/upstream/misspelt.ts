const letters = 'abcdefghijklmnopqrstuvwxyz0123456789'
const shortest = 4
const longest = 24

/**
 * Every word one slip of the fingers away: two letters changed about, one left out, one too many, one wrong.
 * Short words have too many neighbours: of them only the first two kinds of slip are put right.
 */
export function misspellings(word: string): string[] {
  if (word.length < shortest || word.length > longest || !/^[a-z0-9]+$/.test(word)) return []
  const at = Array.from({ length: word.length + 1 }, (_, index) => index)
  const split = at.map((index) => [word.slice(0, index), word.slice(index)] as const)
  const found = [...split.flatMap(changedAbout), ...split.flatMap(leftOut)]
  if (word.length > shortest) found.push(...split.flatMap(tooMany), ...split.flatMap(wrong))
  return [...new Set(found)].filter((one) => one !== word)
}

type Split = readonly [string, string]

function changedAbout([head, tail]: Split): string[] {
  const [first, second] = tail
  if (first === undefined || second === undefined) return []
  return [head + second + first + tail.slice(2)]
}

function leftOut([head, tail]: Split): string[] {
  return Array.from(letters, (letter) => head + letter + tail)
}

function tooMany([head, tail]: Split): string[] {
  return tail === '' ? [] : [head + tail.slice(1)]
}

function wrong([head, tail]: Split): string[] {
  return tail === '' ? [] : Array.from(letters, (letter) => head + letter + tail.slice(1))
}
