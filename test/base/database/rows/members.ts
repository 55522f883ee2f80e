import { TypeFlags, type Checker, type Type } from 'typescript/unstable/sync'

/** One column of a row type, as the compiler sees it. */
export interface Member {
  readonly name: string
  /** `string`, `number`, `boolean`, `Date`, `Buffer`, an array of one of them such as `string[]`, or `json`. */
  readonly kind: string
  readonly nullable: boolean
  /** Contents of a document, at any depth. */
  readonly keys: readonly Key[]
}

/** A name in a document, with its value. */
export interface Key {
  readonly name: string
  readonly kind: string
}

const scalars: readonly (readonly [number, string])[] = [
  [TypeFlags.String | TypeFlags.StringLiteral | TypeFlags.TemplateLiteral, 'string'],
  [TypeFlags.Number | TypeFlags.NumberLiteral, 'number'],
  [TypeFlags.Boolean | TypeFlags.BooleanLiteral, 'boolean'],
]

/** Members of a row type; null for a type that is not a row. */
export function membersOf(checker: Checker, row: Type): readonly Member[] | null {
  const isRow = row.isObjectType() || row.isIntersectionType()
  if (!isRow || kindOf(checker, row) !== 'json') return null
  return checker.getPropertiesOfType(row).map((property) => {
    const type = checker.getTypeOfSymbol(property)
    if (type === undefined) throw new Error(`expected ${property.name} to have a type, got none`)
    return {
      name: property.name,
      kind: kindsOf(checker, type),
      nullable: valuesOf(type).length < partsOf(type).length,
      keys: keysOf(checker, type, new Set()),
    }
  })
}

function partsOf(type: Type): readonly Type[] {
  return type.isUnionType() ? type.getTypes() : [type]
}

/** All alternatives of a type except null. */
function valuesOf(type: Type): readonly Type[] {
  return partsOf(type).filter(({ flags }) => (flags & TypeFlags.Null) === 0)
}

/** The kind of a type; several kinds, which no column can have, are reported. */
function kindsOf(checker: Checker, type: Type): string {
  return [...new Set(valuesOf(type).map((part) => kindOf(checker, part)))].join(' | ')
}

function kindOf(checker: Checker, type: Type): string {
  const scalar = scalars.find(([flags]) => (type.flags & flags) !== 0)
  if (scalar !== undefined) return scalar[1]
  const name = type.getSymbol()?.name
  if (name === 'Date' || name === 'Buffer') return name
  const [element] = elementsOf(checker, type).flatMap(valuesOf)
  const kind = element === undefined ? 'json' : kindOf(checker, element)
  return kind === 'json' ? 'json' : `${kind}[]`
}

function elementsOf(checker: Checker, type: Type): readonly Type[] {
  if (!checker.isArrayLikeType(type) || !type.isTypeReference()) return []
  return checker.getTypeArguments(type)
}

function keysOf(checker: Checker, type: Type, seen: Set<number>): readonly Key[] {
  if (seen.has(type.id)) return []
  seen.add(type.id)
  const inner = (part: Type) => keysOf(checker, part, seen)
  if (type.isUnionType()) return valuesOf(type).flatMap(inner)
  // Properties that every array and string has are not part of the document.
  if (kindOf(checker, type) !== 'json') return []
  const elements = elementsOf(checker, type)
  if (elements.length > 0) return elements.flatMap(inner)
  return checker.getPropertiesOfType(type).flatMap((property) => {
    const value = checker.getTypeOfSymbol(property)
    // A name created by a mapped type stands for a value of the data, such as a state.
    if (value === undefined || property.declarations.length === 0) return []
    return [{ name: property.name, kind: kindsOf(checker, value) }, ...inner(value)]
  })
}
