import { html, type Html } from '../../../drawing/html.ts'
import type { PagePlace } from '../../page.ts'
import { amount, given, nothing, section, table, to, unknown } from '../../../drawing/parts.ts'
import { toDomain } from '../ways.ts'
import type { AskedRows } from './answer.ts'
import { picture } from './picture.ts'

/** An answer: as a picture where one fits, as a table, and the way to it as a file. */
export function drawAnswer(
  asked: AskedRows,
  { place, title, file }: { place: PagePlace; title: string; file: string | null },
): Html {
  const { rows, more, ms, warnings } = asked
  const seconds = (ms / 1000).toFixed(ms < 10_000 ? 2 : 0)
  const count = more
    ? html`the first ${amount(rows.length)} rows`
    : html`${amount(rows.length)} rows`
  return section(
    {
      id: 'answer',
      title: 'Answer',
      about: html`${count} in ${seconds} s · ${to(file, 'all of it as CSV')}`,
    },
    html`${warnings.map((line) => html`<p class="soft">${line}</p>`)} ${picture(asked, title)}
    ${
      rows.length === 0
        ? nothing('No rows: nothing in the tables answers this.', null)
        : answerTable(asked, place)
    }`,
  )
}

function answerTable({ columns, rows }: AskedRows, place: PagePlace): Html {
  const all = columns.map((column, index) => ({
    head: column.name,
    ...(column.kind === 'number' ? { number: true as const } : {}),
    cell: (row: readonly (string | null)[]) => cellOf(column.name, row[index] ?? null, place),
  }))
  return table('Rows of the answer', all, rows)
}

/** Domains lead to their pages; everything else is what it says. */
function cellOf(name: string, text: string | null, place: PagePlace): Html {
  if (text === null) return unknown
  return /^(domain|rival|loser|taker|own_domain)$/.test(name) ? toDomain(place, text) : given(text)
}

/** A statement to copy. */
export function drawSql(text: string, line: string | null): Html {
  return section(
    {
      id: 'sql',
      title: 'The SQL behind it',
      about: 'As it stands in the library; $1, $2 … are the values above, in their order.',
    },
    html`${line === null ? null : html`<p><code class="command" data-copy>${line}</code></p>`}
      <pre tabindex="0" aria-label="SQL"><code data-copy>${text.trim()}</code></pre>`,
  )
}

/** What was asked for and not answered, and why. */
export function drawRefusal(reason: string): Html {
  return html`<section class="problem" role="alert"><p>${reason}</p></section>`
}
