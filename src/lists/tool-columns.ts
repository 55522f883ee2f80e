import { plainName, type Role } from './names.ts'
import type { ListColumn } from './names.ts'

/** A column that a tool writes beside its queries; the earlier pattern wins where several columns fit. */
interface ToolColumn {
  readonly role: Exclude<Role, 'query'>
  readonly names: readonly RegExp[]
}

const toolColumns: readonly ToolColumn[] = [
  { role: 'gl', names: [/^country$/, /^country code$/] },
  { role: 'hl', names: [/^language$/, /^language code$/] },
  {
    role: 'weight',
    names: [
      /^(?:avg\.? )?(?:monthly )?search(?:es)? vol(?:ume)?$/,
      /^volume$/,
      /^vol$/,
      /^avg\.? monthly searches$/,
      /^(?:monthly searches|search vol\.?|msv|volumen|suchvolumen|zoekvolume|volume de recherche|volumen de búsqueda|volume di ricerca|月間検索数|検索ボリューム|搜索量)$/,
      /^impressions$/,
    ],
  },
  { role: 'cpc', names: [/^cpc(?: \([a-z]{3})?$/, /^(?:average|avg\.?) cpc$/, /^cost per click$/] },
  {
    role: 'difficulty',
    names: [
      /^keyword difficulty(?: %)?$/,
      /^kd(?: ?%)?$/,
      /^difficulty$/,
      /^(?:seo|search) difficulty$/,
    ],
  },
]

/** The columns of known tools that no name of ours stands for. */
export function findToolColumns(
  cells: readonly string[],
  taken: { readonly indexes: ReadonlySet<number>; readonly roles: ReadonlySet<string> },
): readonly ListColumn[] {
  const names = cells.map((cell) => plainName(cell))
  return toolColumns.flatMap(({ role, names: patterns }) => {
    if (taken.roles.has(role)) return []
    for (const pattern of patterns) {
      const index = names.findIndex((name, at) => pattern.test(name) && !taken.indexes.has(at))
      if (index >= 0) return [{ role, index, several: false, tool: true }]
    }
    return []
  })
}

const worthSaying = new Set(['country', 'language', 'locale', 'market', 'volume'])

/** Of the columns that nothing is taken from, those that a person may believe to be read. */
export function missedColumns(ignored: readonly string[]): readonly string[] {
  return ignored.filter((cell) => worthSaying.has(plainName(cell)))
}
