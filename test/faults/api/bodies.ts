import { fraction, pick, type Random, seeded } from '../../../src/base/random.ts'

/** The request that a generated answer is for. */
interface Asked {
  readonly q: string
  readonly num: number
}

/** Credits reported by the answer. */
interface Billed {
  readonly used: number
  readonly remaining: number
}

type Words = readonly [string, ...string[]]

const words: Words = [
  ...(
    'about again animal answer archive balance basic beginner better bridge budget build business ' +
    'camera change choice city classic clear cloud code colour common compare complete cost country ' +
    'course craft current daily data design detail digital early easy energy engine event example ' +
    'expert explain family fast field film final flight forest free fresh future garden general gold ' +
    'good green guide health history home house idea image income island issue journal kitchen large ' +
    'learn level light list local machine market method mobile modern money mountain music nature ' +
    'network number office online open order paper part people phone picture place plan plant point ' +
    'power price problem product public quality question quick range rate reason record region report ' +
    'review river road rule sample school science season service simple small solution source space ' +
    'stage start station story street study summer supply support system table test theory ticket ' +
    'time tool town trade travel update value video view village water weather week winter world'
  ).split(' '),
] as [string, ...string[]]

const intents = ['informational', 'navigational', 'commercial', 'transactional'] as const
const sentiments = ['neutral', 'neutral', 'neutral', 'positive', 'negative'] as const
const types = ['Person', 'Place', 'Organization', 'Product', 'Technology', 'Thing'] as const
const counts = { hosts: 20_000, pages: 400, entities: 8_000, clusters: 600, texts: 1024 }

/**
 * Quickly generates answers with the size and shape of real ones. A few hosts, pages and entities occur in most
 * answers, and most occur in few. The same seed and query always give the same answer.
 */
export class BodyWriter {
  readonly #seed: string
  readonly #titles: Words
  readonly #snippets: Words

  constructor(seed: string) {
    this.#seed = seed
    const random = seeded(`${seed} texts`)
    this.#titles = texts(random, { least: 4, most: 9 })
    this.#snippets = texts(random, { least: 18, most: 30 })
  }

  /** The whole body as JSON. */
  write(asked: Asked, { used, remaining }: Billed): string {
    return `${this.open(asked)},"credits_used":${used},"credits_remaining":${remaining}}`
  }

  /** The body up to its last two fields. */
  open({ q, num }: Asked): string {
    const random = seeded(`${this.#seed}\n${q}`)
    let results = ''
    for (let position = 1; position <= num; position += 1) {
      results += (position === 1 ? '' : ',') + this.#result(position, random)
    }
    const head = `{"success":true,"query":${JSON.stringify(q)},"intent":"${pick(random, intents)}","sentiment":"${pick(random, sentiments)}"`
    const clusters = list(3, () => `"${clusterName(tailed(random, counts.clusters))}"`)
    const entities = list(5, () => entity(tailed(random, counts.entities)))
    const stem = JSON.stringify(q.trim().slice(0, 200)).slice(0, -1)
    const related = list(8, () => `${stem} ${pick(random, words)} ${pick(random, words)}"`)
    return `${head},"clusters":[${clusters}],"entities":[${entities}],"organic_results":[${results}],"related_searches":[${related}]`
  }

  #result(position: number, random: Random): string {
    const domain = hostName(tailed(random, counts.hosts))
    const page = tailed(random, counts.pages)
    const text = fraction(`${domain}/${page}`)
    const title = this.#titles[Math.floor(text * counts.texts)] ?? ''
    const snippet = pick(random, this.#snippets)
    const slug = title.toLowerCase().replaceAll(' ', '-')
    return `{"position":${position},"title":"${title}","url":"https://${domain}/${slug}/${page}","snippet":"${snippet}","domain":"${domain}"}`
  }
}

/** A number from 1 to `most`; a number twice as large is half as likely. */
function tailed(random: Random, most: number): number {
  return Math.floor(Math.exp(random() * Math.log(most)))
}

function hostName(rank: number): string {
  const name = `${words[rank % words.length]}-${rank}.example`
  return rank % 3 === 0 ? name : `www.${name}`
}

function entity(rank: number): string {
  const name = `${capital(words[rank % words.length] ?? '')} ${capital(words[(rank * 7) % words.length] ?? '')} ${rank}`
  return `{"name":"${name}","type":"${types[rank % types.length]}"}`
}

function clusterName(rank: number): string {
  return `${capital(words[rank % words.length] ?? '')} ${capital(words[(rank * 13) % words.length] ?? '')}`
}

function list(length: number, item: () => string): string {
  return Array.from({ length }, item).join(',')
}

function texts(random: Random, size: { least: number; most: number }): Words {
  const all = Array.from({ length: counts.texts }, () => {
    const length = size.least + Math.floor(random() * (size.most - size.least + 1))
    return capital(Array.from({ length }, () => pick(random, words)).join(' '))
  })
  return all as [string, ...string[]]
}

function capital(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
