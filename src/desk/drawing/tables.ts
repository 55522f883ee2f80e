// Draws tables. Each column is defined by its heading and its values.

import { change, clicks, Html, html } from './html.ts'
import { amount, type Content, given, nothing, percent, section, type Titles, to } from './parts.ts'

export interface Column<Row> {
  readonly head: string
  /** If set, the heading is a link that sorts the table. */
  readonly sorting?: { href: string | null; order: 'ascending' | 'descending' | null } | null
  readonly cell: (row: Row) => Content
  /** Appearance of the cells. Numbers (`n`) are right-aligned, and words (`word`) are not wrapped. */
  readonly look?: 'n' | 'word' | undefined
}

interface ColumnKind<Value> {
  <const Key extends string>(head: string, key: Key): Column<Readonly<Record<Key, Value>>>
  <Row>(head: string, valueOf: (row: Row) => Value): Column<Row>
}

export const column = {
  plain: kindOf<Content>((value) => value),
  word: kindOf<Content>((value) => value, 'word'),
  text: kindOf<string | null>(given),
  number: kindOf<number | null>(amount, 'n'),
  right: kindOf<Content>((value) => value, 'n'),
  share: kindOf<number | null>(percent, 'n'),
  change: kindOf<number>(change, 'n'),
  clicks: kindOf<number>(clicks, 'n'),
}

function kindOf<Value>(draw: (value: Value) => Content, look?: 'n' | 'word'): ColumnKind<Value> {
  return <Row>(head: string, from: keyof Row | ((row: Row) => Value)): Column<Row> => ({
    head,
    look,
    cell: (row) => draw(typeof from === 'function' ? from(row) : (row[from] as Value)),
  })
}

// If only one column is left, a phone shows it, because the control to expand it would take as much space.
const phoneColumns = 4

/** Draws a table. On a phone, each row is a card with the first columns, and the other columns can be expanded. */
export function table<Row>(
  name: string,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Html {
  const folds = columns.length > phoneColumns + 1
  const kind = ({ look }: Column<Row>, index: number) => {
    const names = [look, folds && index >= phoneColumns ? 'rest' : undefined].filter(Boolean)
    return names.length === 0 ? null : new Html(` class="${names.join(' ')}"`)
  }
  const unfold = html`<details class="unfold"><summary>All columns of ${name}</summary></details>`
  return html`${folds ? unfold : null}
    <div class="scroll" role="region" aria-label="${name}" tabindex="0">
      <table>
        <thead>
          <tr>
            ${columns.map((one, index) => html`<th scope="col" ${kind(one, index)}${orderOf(one)}>${headOf(one)}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            (row) =>
              html`<tr>
                ${columns.map((one, index) => html`<td${kind(one, index)} data-head="${one.head}">${one.cell(row)}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`
}

function orderOf<Row>({ sorting }: Column<Row>): Html | null {
  const order = sorting?.order ?? null
  return order === null ? null : html` aria-sort="${order}"`
}

function headOf<Row>({ head, sorting = null }: Column<Row>): Html | string {
  if (sorting === null) return head
  const sign = { ascending: ' ▲', descending: ' ▼', none: '' }[sorting.order ?? 'none']
  return html`${to(sorting.href, head)}<span aria-hidden="true">${sign}</span>`
}

interface TableTitles extends Titles {
  readonly title: string
  /** Text to show if there are no rows, with the command to run. Omit this text if the table always has rows. */
  readonly empty?: string | readonly [text: string, line: string]
}

export function tableSection<Row>(
  { empty, ...titles }: TableTitles,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
): Html {
  if (rows.length > 0 || empty === undefined) {
    return section(titles, table(titles.title, rows, columns))
  }
  return section(titles, typeof empty === 'string' ? nothing(empty) : nothing(...empty))
}
