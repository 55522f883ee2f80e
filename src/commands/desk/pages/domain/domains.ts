import { readDomainTable, type DomainRow } from '../../../../store/analysis/domain-table.ts'
import { readHeldDays } from '../../../../store/analysis/domain-days.ts'
import { readNotesBetween } from '../../../../store/analysis/notes.ts'
import { readSuspects } from '../../../../store/analysis/ranks.ts'
import { fromFirstAnswers, readSpan, type ReadSpan } from '../../../../store/analysis/span.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { definePage, type PagePlace } from '../../page.ts'
import { amount, badge, nothing, percent, section, table } from '../../../drawing/parts.ts'
import { askedSpan, chooser, dayFields, daysText, textField } from '../choose.ts'
import { toDomain } from '../ways.ts'
import { drawShares, type ShareFound } from './shares.ts'
import { change } from '../../../drawing/change.ts'

interface DomainsFound extends ShareFound {
  readonly span: ReadSpan
  readonly rows: readonly DomainRow[]
}

const drawn = 6

/** Who holds how much, and who won and lost between two days. */
export const domainsPage = definePage({
  path: '/domains',
  nav: 'Domains',
  ask: (address) => ({
    span: askedSpan(address, { days: 8, most: 400 }),
    word: address.text('word'),
  }),
  read: (reading, { span, word }) =>
    reading.answers(async (db): Promise<DomainsFound> => {
      const days = await fromFirstAnswers(db, await readSpan(db, span))
      const rows = await readDomainTable(db, days, word)
      const domains = rows.slice(0, drawn).map(({ domain }) => domain)
      return {
        span: days,
        rows,
        shares: await readHeldDays(db, { domains, tag: '*', ...days }),
        notes: await readNotesBetween(db, days),
        suspect: await readSuspects(db, days),
      }
    }),
  show: ({ span, rows, ...found }, place, { word }) => ({
    title: 'Domains',
    lead: `Shares of the clicks in the last known answers on two days: ${daysText(span, place)}.`,
    body: html`${chooser({ place, name: 'Which domains, which days' }, [
      textField({ name: 'word', label: 'Name, or a part of it', value: word }),
      dayFields(span),
    ])}
    ${rows.length === 0 ? empty(word) : html`${winners(rows, { place, span })} ${drawShares(found, greatest, place)} ${shares(rows, { place, span })}`}`,
  }),
})

const greatest = {
  picture: 'Share of voice of the domains that stand first below, day by day',
  about: 'Share of the clicks that their best places would get, by weight, over all queries.',
}

function empty(word: string | null): Html {
  return word === null
    ? nothing(
        'Domains of the answers would be here: how much each holds, who won and who lost.',
        'npm run enqueue inputs/keywords.csv',
      )
    : nothing(
        `No domain with ${JSON.stringify(word)} in its name stands in the answers of these days.`,
        null,
      )
}

interface Around {
  readonly place: PagePlace
  readonly span: ReadSpan
}

function winners(rows: readonly DomainRow[], around: Around): Html {
  const gain = ({ share, previousShare }: DomainRow) => share - previousShare
  const up = rows.filter((row) => gain(row) > 0).toSorted((a, b) => gain(b) - gain(a))
  const down = rows.filter((row) => gain(row) < 0).toSorted((a, b) => gain(a) - gain(b))
  const short = (name: string, id: string, shown: readonly DomainRow[]) =>
    section(
      { id, title: name },
      shown.length === 0
        ? nothing('Nobody between these days.', null)
        : domainTable(`${name}, domain by domain`, shown.slice(0, 8), around),
    )
  return html`<div class="pair">
    ${short('Winners', 'winners', up)} ${short('Losers', 'losers', down)}
  </div>`
}

function shares(rows: readonly DomainRow[], around: Around): Html {
  const about = 'Ours first, then by their share; at most a hundred.'
  return section(
    { id: 'shares', title: 'Shares', about },
    domainTable('Domains by share', rows, around),
  )
}

function domainTable(name: string, rows: readonly DomainRow[], { place, span }: Around): Html {
  return table(
    name,
    [
      {
        head: 'Domain',
        cell: ({ domain, ours }) =>
          html`${toDomain(place, domain, span)} ${ours ? badge('ours', 'good') : null}`,
      },
      { head: 'Share', number: true, cell: ({ share }) => percent(share) },
      {
        head: `Since ${span.since}`,
        number: true,
        cell: ({ share, previousShare }) => change(share - previousShare),
      },
      { head: 'Queries', number: true, cell: ({ ranked }) => amount(ranked) },
      { head: 'Of these 1 to 3', number: true, cell: ({ top3 }) => amount(top3) },
    ],
    rows,
  )
}
