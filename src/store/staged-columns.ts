import type { Query } from '../query.ts'
import { DoubleColumn, IntegerColumn, TextColumn, UuidColumn, type Column } from './arrays.ts'

/** One query of a list as it is written down, before equal ones are merged. */
export interface StagedQuery {
  readonly line: number
  /** As `queryIdBytes` makes it. */
  readonly id: string
  readonly key: string
  readonly query: Query
  readonly priority: number
  readonly weight: number | null
  readonly target: string | null
  readonly tags: readonly string[]
  readonly given: string | null
}

/** Stands between labels: no text of a list holds it. */
const group = '\u001d'

/** The columns of a lot, as parameters. */
export type LotColumns = readonly (Buffer | string)[]

/** Rows of a temporary table, gathered column by column until they are sent. */
export abstract class Lot {
  protected abstract readonly columns: readonly Column[]
  #rows = 0

  get rows(): number {
    return this.#rows
  }

  add(query: StagedQuery): void {
    this.#rows += 1
    this.take(query)
  }

  protected abstract take(query: StagedQuery): void

  /** How much memory it takes. */
  get bytes(): number {
    return this.columns.reduce((sum, column) => sum + column.size, 0)
  }

  /** Begins anew; what was made of it before must have been sent. */
  clear(): void {
    this.#rows = 0
    for (const column of this.columns) column.clear()
  }

  /** For one `unnest` of them all, which fills a column that is shorter with nulls. */
  toParameters(): LotColumns {
    return this.columns.map((column) => (column.blank ? '{}' : column.toParameter()))
  }
}

/** What tasks are made of. */
export class Wanted extends Lot {
  readonly #lines = new IntegerColumn()
  readonly #ids = new UuidColumn()
  readonly #priorities = new IntegerColumn()
  readonly #nums = new IntegerColumn()
  readonly #devices = new TextColumn()
  protected readonly columns = [this.#lines, this.#ids, this.#priorities, this.#nums, this.#devices]

  protected take({ line, id, query, priority }: StagedQuery): void {
    this.#lines.add(line)
    this.#ids.add(id)
    this.#priorities.add(priority)
    this.#nums.add(query.num)
    this.#devices.add(query.device)
  }
}

/** What a list holds: its queries, and what it says about them. */
export class Held extends Lot {
  readonly #ids = new UuidColumn()
  readonly #keys = new TextColumn()
  readonly #texts = new TextColumn()
  readonly #locations = new TextColumn()
  readonly #languages = new TextColumn()
  readonly #countries = new TextColumn()
  readonly #nums = new IntegerColumn()
  readonly #devices = new TextColumn()
  readonly #priorities = new IntegerColumn()
  readonly #weights = new DoubleColumn()
  readonly #targets = new TextColumn()
  readonly #tags = new TextColumn()
  readonly #given = new TextColumn()
  protected readonly columns = [
    this.#ids,
    this.#keys,
    this.#texts,
    this.#locations,
    this.#languages,
    this.#countries,
    this.#nums,
    this.#devices,
    this.#priorities,
    this.#weights,
    this.#targets,
    this.#tags,
    this.#given,
  ]

  protected take({ id, key, query, priority, weight, target, tags, given }: StagedQuery): void {
    this.#ids.add(id)
    this.#keys.add(key)
    this.#texts.add(query.q)
    this.#locations.add(query.location)
    this.#languages.add(query.hl)
    this.#countries.add(query.gl)
    this.#nums.add(query.num)
    this.#devices.add(query.device)
    this.#priorities.add(priority)
    this.#weights.add(weight)
    this.#targets.add(target)
    this.#tags.add(tags.length === 0 ? null : tags.join(group))
    this.#given.add(given)
  }
}
