// Parses the alert rules file, and reports all problems in it.

import { npmRun } from '../../base/cli/commands.ts'
import { isDomain, siteName } from '../../base/address.ts'
import { Misuse } from '../../base/errors.ts'
import { readSwitch } from '../../base/settings.ts'
import type { TableRow } from '../../core/lists/table.ts'
import { alertKinds, type AlertRule } from './statements.ts'

export const alertColumns = [
  'alert',
  'what',
  'threshold',
  'direction',
  'list',
  'tag',
  'domain',
  'rival',
  'feature',
  'confirm',
  'on',
] as const

type Column = (typeof alertColumns)[number]

const positions = { shape: /^\d+$/, expected: 'a whole number of positions from 1 to 100' }
const top = { shape: /^\d+$/, expected: 'the last position that counts as top, from 1 to 100' }
const percent = {
  shape: /^\d+(\.\d+)?(?: ?%)?$/,
  expected: 'percent of the share, above 0 and at most 100',
}

/** Optional columns and threshold of each kind of alert, and whether its domain may be `*`. */
const kinds: Record<
  AlertRule['what'],
  {
    readonly columns: readonly Column[]
    readonly threshold?: typeof positions
    readonly anybody?: true
  }
> = {
  entered: { columns: ['domain'], anybody: true },
  left: { columns: ['domain'], anybody: true },
  moved: { columns: ['threshold', 'domain', 'direction'], threshold: positions, anybody: true },
  crossed: { columns: ['threshold', 'domain', 'direction'], threshold: top, anybody: true },
  share_fell: { columns: ['threshold', 'domain'], threshold: percent },
  rival_passed: { columns: ['domain', 'rival'] },
  new_feature: { columns: ['feature'] },
  wrong_page: { columns: ['domain'] },
}

interface KnownNames {
  /** Returns the name of the list that a line refers to; null if there is no such list. */
  readonly listOf: (typed: string) => string | null
  /** Our own and rivals' sites that are a folder or a group of hosts. Only these sites have separate figures. */
  readonly sites: ReadonlySet<string>
}

/** Parses the rules in a file, except disabled rules. One error lists all problems in the file. */
export function readAlertFile({
  rows,
  shown,
  ...known
}: KnownNames & {
  readonly rows: readonly TableRow[]
  readonly shown: string
}): readonly AlertRule[] {
  const problems = headerProblems(rows).map((problem) => `${shown}:1: ${problem}`)
  const lines = new Map<string, number>()
  const rules = rows.flatMap(({ line, fields, problem }) => {
    const complain = (text: string) => problems.push(`${shown}:${line}: ${text}`)
    if (problem !== null) {
      complain(`${problem}; put quotes around a cell that contains a comma`)
      return []
    }
    const cell = (column: Column) => fields.get(column) ?? ''
    const refuse = (column: Column, expected: string) => {
      const got = cell(column) === '' ? 'nothing' : JSON.stringify(cell(column))
      complain(`${column}: expected ${expected}, got ${got}`)
    }
    const { rule, on } = readRule({ cell, refuse }, known)
    const twin = lines.get(rule.name)
    if (twin !== undefined && rule.name !== '') {
      refuse('alert', `a unique name, but line ${twin} has the same name`)
    }
    lines.set(rule.name, twin ?? line)
    return on ? [rule] : []
  })
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return rules
}

interface RuleLine {
  readonly cell: (column: Column) => string
  readonly refuse: (column: Column, expected: string) => void
}

function readRule({ cell, refuse }: RuleLine, { listOf, sites }: KnownNames) {
  type Parse<T> = (text: string) => T | null | undefined
  const read = <T>(column: Column, parse: Parse<T>, expected: string) => {
    const value = cell(column) === '' ? null : (parse(cell(column)) ?? undefined)
    if (value === undefined) refuse(column, expected)
    return value ?? null
  }
  const need = <T>(column: Column, parse: Parse<T>, expected: string) => {
    if (cell(column) === '') refuse(column, expected)
    return read(column, parse, expected)
  }
  const siteOf = (anybody: boolean) => (text: string) => {
    if (text === '*') return anybody ? text : null
    const domain = siteName(text)
    return isDomain(domain) || sites.has(domain) ? domain : null
  }
  need('alert', (text) => /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(text) || null, nameShape)
  const kindOf = (text: string) => {
    return alertKinds.find((one) => one === text.toLowerCase().replaceAll(' ', '_'))
  }
  const what = need('what', kindOf, `one of ${alertKinds.join(', ')}`)
  const { threshold, anybody = false } = what === null ? {} : kinds[what]
  const limitOf = (text: string) => {
    const limit = threshold?.shape.test(text) === true ? Number.parseFloat(text) : 0
    return limit > 0 && limit <= 100 ? limit : null
  }
  const wayOf = (text: string) =>
    (['up', 'down'] as const).find((one) => one === text.toLowerCase())
  const confirmOf = (text: string) => (/^[1-7]$/.test(text) ? Number(text) : null)
  const rule: AlertRule = {
    name: cell('alert'),
    what: what ?? 'left',
    threshold: threshold === undefined ? null : need('threshold', limitOf, threshold.expected),
    direction: read('direction', wayOf, '"up", "down" or nothing for both'),
    list: read('list', listOf, 'the name of an enqueued list, or the path of a list file'),
    tag: cell('tag') || null,
    domain: read('domain', siteOf(anybody), siteShape),
    rival: read('rival', siteOf(true), siteShape),
    feature: cell('feature') || null,
    confirm: read('confirm', confirmOf, 'a number of consecutive answers, from 1 to 7') ?? 1,
  }
  if (what !== null) refuseOthers(what, { cell, refuse })
  return { rule, on: read('on', readSwitch, '"yes" or "no"') ?? true }
}

const nameShape = 'a short name of letters, digits, spaces, ".", "_" or "-"'
const siteShape = `a domain like example.com, without https://, or a folder or *.domain that ${npmRun('domains')} lists`

/** Reports cells that this kind of alert does not use, and cells that contradict each other. */
function refuseOthers(what: AlertRule['what'], { cell, refuse }: RuleLine): void {
  for (const column of ['threshold', 'direction', 'domain', 'rival', 'feature'] as const) {
    if (!kinds[what].columns.includes(column) && cell(column) !== '') {
      refuse(column, `nothing for ${what}`)
    }
  }
  if (what === 'rival_passed' && cell('rival') === '') {
    refuse('rival', 'the domain that passes ours, or * for any')
  }
  if (what === 'share_fell' && cell('list') !== '' && cell('tag') !== '') {
    refuse('tag', 'the share of either a list or a label, not of both')
  }
}

function headerProblems(rows: readonly TableRow[]): readonly string[] {
  const names = [...(rows[0]?.fields.keys() ?? [])]
  if (names.length === 0) return []
  const unknown = names.filter((name) => !alertColumns.some((column) => column === name))
  const missing = (['alert', 'what'] as const).filter((column) => !names.includes(column))
  return [
    ...unknown.map((name) => `${name}: expected one of the columns ${alertColumns.join(', ')}`),
    ...missing.map((name) => `${name}: this column is missing`),
  ]
}
