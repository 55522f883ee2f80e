import { Misuse } from '../../shared/errors.ts'

/** Labels with + (has it) or - (has it not) in front, of which one must hold. */
export type Condition = readonly string[]

type Token = { readonly kind: 'and' | 'or' | 'not' | '(' | ')' } | { kind: 'label'; text: string }

interface Reader {
  readonly typed: string
  readonly tokens: Token[]
}

// What "and" over many "or" multiplies out to: nobody types as many labels.
const mostConditions = 200

/** Reads labels joined by "and", "or", "not" and brackets, as conditions that must all hold. */
export function readCondition(typed: string): readonly Condition[] {
  const reader = { typed, tokens: cut(typed) }
  const conditions = either(reader, true)
  if (reader.tokens.length > 0) throw unclear(typed)
  return conditions
}

/** The condition that holds for one label alone, whatever it is called. */
export function conditionOf(label: string): string {
  const [token, ...more] = cut(label)
  const plain = token?.kind === 'label' && token.text === label && more.length === 0
  return plain ? label : `"${label.replaceAll('"', '""')}"`
}

/** Words that stand beside each other are one label: "red shoes" needs no quotes of its own. */
function cut(typed: string): Token[] {
  const tokens: Token[] = []
  for (const [piece, quoted] of typed.matchAll(/"((?:[^"]|"")*)"|[()]|[^\s()"]+/g)) {
    const word = piece.toLowerCase()
    const last = tokens.at(-1)
    if (quoted !== undefined) tokens.push({ kind: 'label', text: quoted.replaceAll('""', '"') })
    else if (word === '(' || word === ')') tokens.push({ kind: word })
    else if (word === 'and' || word === 'or' || word === 'not') tokens.push({ kind: word })
    else if (last?.kind === 'label') last.text += ` ${piece}`
    else tokens.push({ kind: 'label', text: piece })
  }
  return tokens
}

/** "or" binds least. Under a "not" it is an "and", and the other way round. */
function either(reader: Reader, wanted: boolean): readonly Condition[] {
  let found = both(reader, wanted)
  while (reader.tokens[0]?.kind === 'or') {
    reader.tokens.shift()
    found = join(reader, wanted ? 'or' : 'and', [found, both(reader, wanted)])
  }
  return found
}

function both(reader: Reader, wanted: boolean): readonly Condition[] {
  let found = single(reader, wanted)
  while (reader.tokens[0]?.kind === 'and') {
    reader.tokens.shift()
    found = join(reader, wanted ? 'and' : 'or', [found, single(reader, wanted)])
  }
  return found
}

function single(reader: Reader, wanted: boolean): readonly Condition[] {
  const token = reader.tokens.shift()
  if (token?.kind === 'not') return single(reader, !wanted)
  if (token?.kind === 'label') return [[`${wanted ? '+' : '-'}${token.text}`]]
  if (token?.kind !== '(') throw unclear(reader.typed)
  const found = either(reader, wanted)
  if (reader.tokens.shift()?.kind !== ')') throw unclear(reader.typed)
  return found
}

function join(
  { typed }: Reader,
  word: 'and' | 'or',
  [one, other]: readonly [readonly Condition[], readonly Condition[]],
): readonly Condition[] {
  const joined =
    word === 'and'
      ? [...one, ...other]
      : one.flatMap((first) => other.map((second) => [...new Set([...first, ...second])]))
  if (joined.length <= mostConditions) return joined
  throw new Misuse(
    `expected --tag to come to ${mostConditions} conditions at most, got more from ${JSON.stringify(typed)}; ask two questions`,
  )
}

function unclear(typed: string): Misuse {
  return new Misuse(
    `expected --tag to be labels joined by and, or, not and brackets, as in "brand and not (sale or old)", got ${JSON.stringify(typed)}`,
  )
}
