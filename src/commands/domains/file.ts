import { Misuse } from '../../shared/errors.ts'
import { isSite, siteName } from '../../shared/hostname.ts'
import { readSwitch } from '../../shared/shapes.ts'
import { isDay } from '../../shared/time/zone.ts'
import type { FileColumns, OwnDomain } from '../../store/analysis/domains.ts'

/** A row of a small CSV file: its line, its cells by the names of the header. */
export interface NamedRow {
  readonly line: number
  readonly fields: ReadonlyMap<string, string>
}

/** What a file speaks of: what it has no column for stays as it is. */
export function spokenOf(rows: readonly NamedRow[]): FileColumns {
  const has = (name: string) => rows.some(({ fields }) => fields.has(name))
  return { brands: has('brand'), rivals: has('rival') }
}

type Complain = (text: string) => void

function readDate(fields: NamedRow['fields'], name: string, complain: Complain): string | null {
  const text = fields.get(name) ?? ''
  if (text === '') return null
  if (!isDay(text))
    complain(`expected ${name} to be a date like 2026-11-01 or nothing, got ${text}`)
  return text
}

function readLine(fields: NamedRow['fields'], complain: Complain): OwnDomain {
  const typed = fields.get('domain') ?? ''
  const domain = siteName(typed)
  if (!isSite(domain)) {
    complain(
      `expected a domain like example.com, *.example.com or example.com/folder, got ${JSON.stringify(typed)}; leave out https://`,
    )
  }
  const label = fields.get('label') ?? ''
  const brand = fields.get('brand') ?? ''
  const since = readDate(fields, 'since', complain)
  const until = readDate(fields, 'until', complain)
  if (since !== null && until !== null && until < since) {
    complain(`expected until to be ${since} or later, got ${until}`)
  }
  const rival = readSwitch(fields.get('rival') || 'no')
  if (rival === null)
    complain(`expected rival to be yes, no or nothing, got ${fields.get('rival')}`)
  // Without a label, people read the domain as they wrote it.
  const written = domain.includes('/') ? domain : typed.toLowerCase().replace(/^www\./, '')
  return {
    domain,
    label: label === '' ? written : label,
    brand: brand === '' ? null : brand,
    since,
    until,
    rival: rival === true,
  }
}

/** Our domains and those of rivals from the rows of `inputs/config/domains.csv`; every problem is told at once. */
export function readDomains(rows: readonly NamedRow[], shown: string): readonly OwnDomain[] {
  const problems: string[] = []
  const domains = rows.map(({ line, fields }) =>
    readLine(fields, (text) => problems.push(`${shown}:${line}: ${text}`)),
  )
  const seen = new Set<string>()
  for (const [index, { domain, since }] of domains.entries()) {
    const key = `${domain} ${since ?? ''}`
    if (seen.has(key)) {
      problems.push(
        `${shown}:${rows[index]?.line}: expected one line for ${domain} from ${since ?? 'the beginning'}, got a second one`,
      )
    }
    seen.add(key)
  }
  if (problems.length > 0) throw new Misuse(problems.join('\n'))
  return domains
}
