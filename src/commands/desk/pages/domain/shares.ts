import { groupBy } from '../../../../shared/group.ts'
import { count } from '../../../../shared/terminal/wording.ts'
import { dayOf } from '../../../../shared/time/zone.ts'
import type { HeldDay } from '../../../../store/analysis/domain-days.ts'
import type { Note } from '../../../../store/analysis/notes.ts'
import type { SuspectRun } from '../../../../store/analysis/ranks.ts'
import type { Band } from '../../../drawing/bands.ts'
import { html, type Html } from '../../../drawing/html.ts'
import { drawPicture } from '../../../drawing/picture.ts'
import { given, section } from '../../../drawing/parts.ts'
import type { PagePlace } from '../../page.ts'

/** Shares of one domain or several, day by day, with what is to be said of these days. */
export interface ShareFound {
  readonly shares: readonly Pick<HeldDay, 'domain' | 'runDate' | 'share' | 'thin'>[]
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
}

interface ShareTitle {
  /** What the picture shows, in a sentence. */
  readonly picture: string
  /** Whose queries are counted, and how. */
  readonly about: Html | string
}

/** How what was held is drawn over days. */
export const dayPicture = {
  grain: 'day',
  width: 1040,
  height: 260,
  named: true,
  hover: true,
} as const

/** The share of voice as a line for each domain; days that are left out are named, suspect ones shaded too. */
export function drawShares(
  { shares, notes, suspect }: ShareFound,
  { picture, about }: ShareTitle,
  place: PagePlace,
): Html {
  const thin = [...new Set(shares.filter((day) => day.thin).map(({ runDate }) => runDate))]
  const shown = shares.filter((day) => !day.thin)
  const greatest = Math.max(0.001, ...shown.map(({ share }) => share ?? 0))
  const drawn = drawPicture({
    title: picture,
    series: [...groupBy(shown, ({ domain }) => domain)].map(([name, own]) => ({
      name,
      points: own.map(({ runDate, share }) => ({ at: dayOf(runDate), value: share })),
    })),
    notes,
    bands: suspectBands(suspect, place),
    range: [0, greatest * 1.05],
    format: (value) => `${Math.round(value * 1000) / 10} %`,
    ...dayPicture,
  })
  const few =
    thin.length === 0
      ? null
      : html` Left out, since fewer than half of the usual queries were answered:
        ${thin.join(', ')}.`
  return section(
    {
      id: place.id('share'),
      title: 'Share of voice',
      about: html`${about}${few}${suspectWords(suspect, place)}`,
    },
    drawn,
  )
}

/** Suspect days, for a picture that leaves them out. */
export function suspectBands(
  suspect: readonly SuspectRun[],
  { suspects }: PagePlace,
): readonly Band[] {
  if (suspects) return []
  return suspect.map(({ runDate, list, reasons }) => ({
    at: dayOf(runDate),
    name: `${runDate}: ${list} is suspect and left out (${reasons.join('; ')})`,
  }))
}

// The others are named in the pictures, and among the nights.
const toldSuspects = 3

function suspectWords(suspect: readonly SuspectRun[], { suspects }: PagePlace): Html | null {
  if (suspects || suspect.length === 0) return null
  const told = suspect
    .slice(0, toldSuspects)
    .map(({ runDate, list, reasons }) => html`${runDate} of ${given(list)} (${reasons.join(', ')})`)
  const more = suspect.length - told.length
  return html` Left out as suspect, shaded:
  ${told.map((one, index) => (index === 0 ? one : html`; ${one}`))}${more > 0 ? `; and ${count(more, 'run')} before` : ''}.`
}
