import { Misuse } from '../../shared/errors.ts'
import { domainName, isDomain } from '../../shared/hostname.ts'
import { isDay } from '../../shared/time/zone.ts'
import type { OwnDomain } from '../../store/analysis/domains.ts'

/** A row of a small CSV file: its line, its cells by the names of the header. */
export interface NamedRow {
  readonly line: number
  readonly fields: ReadonlyMap<string, string>
}

/** Our domains from the rows of `inputs/config/domains.csv`; every problem is told at once. */
export function readDomains(rows: readonly NamedRow[], shown: string): readonly OwnDomain[] {
  const problems: string[] = []
  const domains = rows.map(({ line, fields }) => {
    const complain = (text: string) => problems.push(`${shown}:${line}: ${text}`)
    const date = (name: string): string | null => {
      const text = fields.get(name) ?? ''
      if (text === '') return null
      if (!isDay(text)) {
        complain(`expected ${name} to be a date like 2026-11-01 or nothing, got ${text}`)
      }
      return text
    }
    const typed = fields.get('domain') ?? ''
    const domain = domainName(typed)
    if (!isDomain(domain)) {
      complain(
        `expected a domain like example.com, got ${JSON.stringify(typed)}; leave out https:// and paths`,
      )
    }
    const label = fields.get('label') ?? ''
    const since = date('since')
    const until = date('until')
    if (since !== null && until !== null && until < since) {
      complain(`expected until to be ${since} or later, got ${until}`)
    }
    // Without a label, people read the domain as they wrote it.
    const written = typed.toLowerCase().replace(/^www\./, '')
    return { domain, label: label === '' ? written : label, since, until }
  })
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
