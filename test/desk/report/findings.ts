// evilReport() → a report in which every text contains markup or script, for pages that must show it as text;
// plainReport() → one with ordinary texts.
import type { ReportFound } from '../../../src/desk/report/page.ts'
import { payloads } from './payloads.ts'

type Books = NonNullable<ReportFound['books']>
type Held = ReportFound['held'][number]

const days = ['2026-01-01', '2026-01-02', '2026-01-03'] as const
const span = { since: days[0], until: days[2], cut: false }
const held = { queries: 10, ranked: 5, top3: 1, top10: 2, top20: 3, share: 0.1, thin: false }

export function evilReport(): ReportFound {
  const notes = payloads.map((text) => ({ date: days[1], text, tag: text }))
  const suspect = payloads.map((list) => ({ runDate: days[0], list, reasons: payloads }))
  const domains = payloads.slice(0, 3).map((domain) => ({ domain, label: `${domain} label` }))
  return {
    zone: 'UTC',
    figures: {
      origins: ['live', payloads[0] ?? ''],
      narrowed: payloads,
      day: days[2],
      previous: days[1],
      queries: 40,
      answers: 120,
      credits: 120,
      span,
      suspect,
      domains,
      notes,
      shares: payloads.flatMap((domain) =>
        days.map((runDate) => ({ ...held, domain, runDate, thin: runDate === days[1] })),
      ),
      ranks: payloads.flatMap((q) =>
        days.map((runDate) => ({
          ...{ domain: payloads[0] ?? '', queryId: q, q, runDate },
          ...{ position: 3, depth: 10 },
        })),
      ),
      variants: payloads.flatMap((q) => {
        const none = { hl: null, gl: null, num: 10 }
        return [
          { queryId: q, q, device: q, location: q, ...none },
          { queryId: `other ${q}`, q, device: null, location: null, ...none },
        ]
      }),
    },
    held: domains.map((known) => evilDomain(known, { notes, suspect })),
    lists: payloads.map((name, id) => ({
      list: { id, name },
      span,
      days: [listDay(0), listDay(1)],
    })),
    books: evilBooks(),
  }
}

function evilDomain(
  known: Held['known'],
  { notes, suspect }: Pick<Held, 'notes' | 'suspect'>,
): Held {
  return {
    ...{ known, span, notes, suspect, compared: { ...span, since: days[1] } },
    days: days.map((runDate) => ({ ...held, domain: known.domain, runDate })),
    moves: payloads.map((text) => ({
      ...{ queryId: text, q: text, variant: text, previous: 4, position: 6 },
      ...{ previousDate: days[1], runDate: days[2], clicks: -0.1 },
    })),
    flows: payloads.map((domain) => ({ domain, taken: 1, won: 0, queries: 1 })),
    pages: payloads.map((text) => ({
      ...{ page: text, pageKey: text, queries: 1, best: 1, example: text, exampleId: text },
    })),
    rivals: payloads.map((domain) => ({ domain, shared: 1, ahead: 1, best: 1 })),
  }
}

function evilBooks(): Books {
  return {
    nights: payloads.map((list, run) => ({
      ...{ list, run_date: days[0], run, kind: 'nightly', state: list, schedule: list },
      ...{ outcome: list, note: list, suspect: run % 2 === 0, reasons: payloads },
      ...{ asked: 10, answered: 9, spent: 1, uncertain: 0 },
    })),
    money: {
      accounts: payloads.map((account, id) => ({
        ...{ id, account, origin: account, remaining: 1000, observed_at: new Date(days[2]) },
        ...{ floor: 100, used: 3 },
      })),
      points: payloads.flatMap((_, id) =>
        days.map((day, index) => ({
          ...{ account_id: id, at: new Date(day), remaining: 1000 - index },
        })),
      ),
      costs: payloads.map((name, index) => ({
        ...{ by: index % 2 === 0 ? ('list' as const) : ('class' as const), name, calls: 1 },
        ...{ credits: 1, answers: 1, lost: 0, perhaps: 0, dearest: 1 },
      })),
      events: payloads.map((account, id) => ({
        ...{ account, after: new Date(days[0]), at: new Date(days[1]), kind: 'top_up' as const },
        ...{ what: 'top-up' as const, credits: 5, balance: 1000, call_id: id, run_id: null },
      })),
    },
  }
}

function listDay(ago: number): ReportFound['lists'][number]['days'][number] {
  return {
    ...{
      run: 1,
      runDate: days[2 - ago] ?? '',
      planned: 10,
      answered: 9,
      bought: 8,
      reused: 1,
      notAsked: 0,
    },
    ...{ failed: 1, unknown: 0, open: 0, others: 0, credits: 8 },
  }
}

export function plainReport(): ReportFound {
  const { figures, held: domains, lists, books } = evilReport()
  const [domain, list] = [domains[0], lists[0]]
  if (domain === undefined || list === undefined || books === null)
    throw new Error('expected a whole report, got a part of one')
  const suspect = [{ runDate: days[0], list: 'keywords', reasons: ['answered 40 %, usually 98 %'] }]
  const known = { domain: 'a.com', label: 'Us' }
  const notes = [{ date: days[1], text: 'A sale began', tag: '*' }]
  return {
    zone: 'UTC',
    figures: {
      ...figures,
      ...{ origins: ['live'], narrowed: [], domains: [known], suspect, notes, variants: [] },
      shares: figures.shares.slice(0, 3).map((point) => ({ ...point, domain: 'a.com' })),
      ranks: figures.ranks.slice(0, 3).map((point) => ({ ...point, domain: 'a.com', q: 'shoes' })),
    },
    held: [
      {
        ...{ ...domain, known, suspect, notes },
        moves: domain.moves.slice(0, 2).map((move) => ({
          ...{ ...move, q: 'intersection observer', variant: 'mobile' },
        })),
        flows: [{ domain: 'them.com', taken: 1, won: 0, queries: 1 }],
        pages: domain.pages.slice(0, 1).map((page) => ({
          ...{ ...page, pageKey: 'a.com/observers', example: 'intersection observer' },
        })),
        rivals: [{ domain: 'them.com', shared: 3, ahead: 1, best: 1 }],
      },
    ],
    lists: [{ ...list, list: { id: 1, name: 'keywords' } }],
    books: {
      nights: books.nights.slice(0, 2).map((night) => ({
        ...{ ...night, list: 'keywords', state: 'done', suspect: false, reasons: [] },
        ...{ schedule: null, outcome: null, note: null },
      })),
      money: {
        accounts: books.money.accounts.slice(0, 1).map((purse) => ({
          ...{ ...purse, account: 'bundled', origin: 'sandbox' },
        })),
        points: books.money.points.slice(0, 3),
        costs: books.money.costs.slice(0, 1).map((cost) => ({ ...cost, name: 'keywords' })),
        events: [],
      },
    },
  }
}
