// Parses the file of alert rules and reports all of its problems.

import { npmRun } from '../../base/cli/commands.ts'
import { isDomain, siteName } from '../../base/address.ts'
import { Misuse } from '../../base/errors.ts'
import { readSwitch } from '../../base/settings.ts'
import type { TableRow } from '../../core/lists/table.ts'
import { alertKinds, type AlertRule } from './statements.ts'

const alertColumns = [
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
type Kind = AlertRule['what']

/** Description and limit of the threshold, for kinds that have one. */
const thresholds: Partial<
  Record<Kind, { readonly expected: string; readonly most: number; readonly whole: boolean }>
> = {
  moved: { expected: 'a whole number of positions from 1 to 100', most: 100, whole: true },
  crossed: { expected: 'the last position of the top, from 1 to 100', most: 100, whole: true },
  share_fell: {
    expected: 'percent of the share, above 0 and at most 100',
    most: 100,
    whole: false,
  },
}

/** Other columns allowed for each kind; all others are rejected. */
const extras: Record<Kind, readonly Column[]> = {
  entered: ['domain'],
  left: ['domain'],
  moved: ['domain', 'direction'],
  crossed: ['domain', 'direction'],
  share_fell: ['domain'],
  rival_passed: ['domain', 'rival'],
  new_feature: ['feature'],
  wrong_page: ['domain'],
}

/** Kinds that may apply to any domain. */
const forAnybody: readonly Kind[] = ['entered', 'left', 'moved', 'crossed']

/** Names known to the database, which lines may use. */
interface KnownNames {
  /** Name of the list that a line refers to; null if there is none. */
  readonly listOf: (typed: string) => string | null
  /** Sites of own and rival domain lines that are a folder or a group of hosts: only these are counted separately. */
  readonly sites: ReadonlySet<string>
}

/** Parses one line and collects all of its problems. */
class RuleReader {
  readonly problems: string[] = []
  readonly #fields: ReadonlyMap<string, string>
  readonly #known: KnownNames

  constructor(fields: ReadonlyMap<string, string>, known: KnownNames) {
    this.#fields = fields
    this.#known = known
  }

  read(): { readonly rule: AlertRule; readonly on: boolean } {
    const name = this.#name()
    const what = this.#what()
    const rule = {
      name,
      what: what ?? 'left',
      threshold: this.#threshold(what),
      direction: this.#direction(),
      list: this.#list(),
      tag: this.#text('tag') || null,
      domain: this.#domain('domain', what !== null && forAnybody.includes(what)),
      rival: this.#domain('rival', true),
      feature: this.#text('feature') || null,
      confirm: this.#confirm(),
    }
    if (what !== null) this.#refuseOthers(what)
    if (what === 'rival_passed' && this.#text('rival') === '') {
      this.refuse('rival', 'the domain that passes ours, or * for any')
    }
    if (what === 'share_fell' && rule.list !== null && rule.tag !== null) {
      this.refuse('tag', 'a share of a list or of a label, not of both')
    }
    return { rule, on: this.#on() }
  }

  refuse(column: Column, expected: string): void {
    this.problems.push(`${column}: expected ${expected}, got ${this.#got(column)}`)
  }

  #text(column: Column): string {
    return this.#fields.get(column) ?? ''
  }

  #got(column: Column): string {
    const text = this.#text(column)
    return text === '' ? 'nothing' : JSON.stringify(text)
  }

  #name(): string {
    const name = this.#text('alert')
    if (!/^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,59}$/u.test(name)) {
      this.refuse('alert', 'a short name of letters, digits, spaces, ".", "_" or "-"')
    }
    return name
  }

  #what(): Kind | null {
    const typed = this.#text('what').toLowerCase().replaceAll(' ', '_')
    const found = alertKinds.find((kind) => kind === typed) ?? null
    if (found === null) this.refuse('what', `one of ${alertKinds.join(', ')}`)
    return found
  }

  #threshold(what: Kind | null): number | null {
    const wanted = what === null ? undefined : thresholds[what]
    if (wanted === undefined) return null
    const text = this.#text('threshold').replace(wanted.whole ? /^$/ : / ?%$/, '')
    const value = Number(text)
    const shape = wanted.whole ? /^\d+$/ : /^\d+(\.\d+)?$/
    if (!shape.test(text) || value <= 0 || value > wanted.most) {
      this.refuse('threshold', wanted.expected)
    }
    return value
  }

  #direction(): AlertRule['direction'] {
    const typed = this.#text('direction').toLowerCase()
    if (typed === '') return null
    const found = (['up', 'down'] as const).find((way) => way === typed)
    if (found === undefined) this.refuse('direction', '"up", "down" or nothing for both')
    return found ?? null
  }

  #list(): string | null {
    const typed = this.#text('list')
    if (typed === '') return null
    const name = this.#known.listOf(typed)
    if (name === null) {
      this.refuse('list', 'a list that was enqueued before, or the path of one')
    }
    return name
  }

  #domain(column: 'domain' | 'rival', anybody: boolean): string | null {
    const typed = this.#text(column)
    if (typed === '' || (typed === '*' && anybody)) return typed || null
    const domain = siteName(typed)
    if (!isDomain(domain) && !this.#known.sites.has(domain)) {
      this.refuse(
        column,
        `a domain like example.com, without https://, or a folder or *.domain that ${npmRun('domains')} lists`,
      )
    }
    return domain
  }

  #confirm(): number {
    const text = this.#text('confirm')
    if (text === '') return 1
    if (!/^[1-7]$/.test(text))
      this.refuse('confirm', 'a number of consecutive answers, from 1 to 7')
    return Number(text)
  }

  #on(): boolean {
    const on = readSwitch(this.#text('on') || 'yes')
    if (on === null) this.refuse('on', '"yes" or "no"')
    return on ?? false
  }

  #refuseOthers(what: Kind): void {
    const allowed = [...extras[what], ...(thresholds[what] === undefined ? [] : ['threshold'])]
    for (const column of ['threshold', 'direction', 'domain', 'rival', 'feature'] as const) {
      if (!allowed.includes(column) && this.#text(column) !== '') {
        this.refuse(column, `nothing for ${what}`)
      }
    }
  }
}

interface AlertFile extends KnownNames {
  readonly rows: readonly TableRow[]
  readonly shown: string
}

/** Parses the rules of a file, except disabled ones. Reports all problems at once and then returns no rules. */
export function readAlertFile({ rows, shown, ...known }: AlertFile): readonly AlertRule[] {
  const problems: string[] = []
  const complain = (line: number, problem: string) => problems.push(`${shown}:${line}: ${problem}`)
  for (const problem of headerProblems(rows)) complain(1, problem)
  const lines = new Map<string, number>()
  const rules = rows.flatMap(({ line, fields, problem }) => {
    if (problem !== null) {
      complain(line, `${problem}; put quotes around a cell that holds a comma`)
      return []
    }
    const reader = new RuleReader(fields, known)
    const { rule, on } = reader.read()
    const twin = lines.get(rule.name)
    if (twin !== undefined && rule.name !== '') {
      reader.refuse('alert', `a unique name, since line ${twin} has this one`)
    }
    lines.set(rule.name, twin ?? line)
    for (const one of reader.problems) complain(line, one)
    return on ? [rule] : []
  })
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return rules
}

function headerProblems(rows: readonly TableRow[]): readonly string[] {
  const names = [...(rows[0]?.fields.keys() ?? [])]
  if (names.length === 0) return []
  const unknown = names.filter((name) => !alertColumns.some((column) => column === name))
  const missing = (['alert', 'what'] as const).filter((column) => !names.includes(column))
  return [
    ...unknown.map((name) => `${name}: expected one of the columns ${alertColumns.join(', ')}`),
    ...missing.map((name) => `${name}: expected this column, got none of that name`),
  ]
}
