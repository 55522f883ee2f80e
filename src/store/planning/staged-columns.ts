import type { Query } from '../../shared/query.ts'
import { DoubleColumn, IntegerColumn, TextColumn, UuidColumn, type ArrayColumn } from '../arrays.ts'

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
  readonly cpc: number | null
  readonly difficulty: number | null
  readonly everyDays: number | null
  readonly maxAgeMs: number | null
  readonly given: string | null
}

/** Separates the labels of a query; no text of a list contains it. */
const group = '\u001d'

/** Queries of a list, gathered column by column until they are sent. */
export class Lot {
  readonly columns = {
    line: new IntegerColumn(),
    id: new UuidColumn(),
    key: new TextColumn(),
    q: new TextColumn(),
    location: new TextColumn(),
    hl: new TextColumn(),
    gl: new TextColumn(),
    num: new IntegerColumn(),
    device: new TextColumn(),
    priority: new IntegerColumn(),
    weight: new DoubleColumn(),
    target: new TextColumn(),
    tags: new TextColumn(),
    cpc: new DoubleColumn(),
    difficulty: new DoubleColumn(),
    everyDays: new DoubleColumn(),
    maxAgeMs: new DoubleColumn(),
    given: new TextColumn(),
    share: new DoubleColumn(),
  }
  readonly #labels: readonly string[]
  readonly #all: readonly ArrayColumn[] = Object.values(this.columns)
  #rows = 0

  /** With the labels that are given a share of the credits, the first of them first. */
  constructor(labels: readonly string[]) {
    this.#labels = labels
  }

  get rows(): number {
    return this.#rows
  }

  /** How much memory it takes. */
  get bytes(): number {
    return this.#all.reduce((sum, column) => sum + column.size, 0)
  }

  add(staged: StagedQuery): void {
    const { line, id, key, query, priority, weight, target, tags, given } = staged
    const { columns } = this
    this.#rows += 1
    columns.line.add(line)
    columns.id.add(id)
    columns.key.add(key)
    columns.q.add(query.q)
    columns.location.add(query.location)
    columns.hl.add(query.hl)
    columns.gl.add(query.gl)
    columns.num.add(query.num)
    columns.device.add(query.device)
    columns.priority.add(priority)
    columns.weight.add(weight)
    columns.target.add(target)
    columns.tags.add(tags.length === 0 ? null : tags.join(group))
    columns.cpc.add(staged.cpc)
    columns.difficulty.add(staged.difficulty)
    columns.everyDays.add(staged.everyDays)
    columns.maxAgeMs.add(staged.maxAgeMs)
    columns.given.add(given)
    columns.share.add(placeAmong(this.#labels, tags))
  }

  /** Empties the columns for the next lot; what was made of them before must have been sent. */
  clear(): void {
    this.#rows = 0
    for (const column of this.#all) column.clear()
  }
}

/** Which of some labels a query holds: of several the first; null: none of them. */
function placeAmong(labels: readonly string[], tags: readonly string[]): number | null {
  const place = labels.findIndex((label) => tags.includes(label))
  return place === -1 ? null : place
}
