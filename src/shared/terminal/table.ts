import Table from 'cli-table3'

export interface TableOptions {
  /** Heads of columns that hold numbers: set flush right, so that digits stand under digits. */
  readonly right?: readonly string[]
  /** Widest cell before it is cut; null: never cut. */
  readonly widest?: number | null
}

type Cell = string | number | boolean | bigint | null | undefined

const plain = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
}

/** Rows as a table for a terminal, without colours or lines, so that it can be copied, searched and cut. */
export function formatTable(
  heads: readonly string[],
  rows: readonly (readonly Cell[])[],
  options: TableOptions = {},
): string {
  const widest = options.widest === undefined ? 60 : options.widest
  const table = new Table({
    head: [...heads],
    chars: plain,
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
    colAligns: heads.map((head) => (options.right?.includes(head) ? 'right' : 'left')),
  })
  for (const row of rows) table.push(row.map((cell) => shown(cell, widest)))
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

// eslint-disable-next-line no-control-regex -- a text from outside must not steer the reader's terminal
const controls = /[\u0000-\u001f\u007f-\u009f]+/g

function shown(cell: Cell, widest: number | null): string {
  if (cell === null || cell === undefined) return ''
  const text = String(cell).replace(controls, ' ')
  return widest === null || text.length <= widest ? text : `${text.slice(0, widest - 1)}…`
}
