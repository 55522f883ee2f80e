import type { Fault } from './fault.ts'
import { unhandled } from '../../shared/errors.ts'

type Kind<Name extends Fault['kind']> = Extract<Fault, { kind: Name }>

/** The end of a body that tells its credits oddly. */
export function oddCredits(fault: Kind<'credits'>, used: number, remaining: number): string {
  const show = (name: string, value: number, odd: boolean) => {
    const text = odd ? oddNumber(fault.value, value) : String(value)
    return text === null ? '' : `,"${name}":${text}`
  }
  const usedPart = show('credits_used', used, fault.field !== 'remaining')
  return `${usedPart}${show('credits_remaining', remaining, fault.field !== 'used')}}`
}

function oddNumber(form: Kind<'credits'>['value'], value: number): string | null {
  switch (form) {
    case 'missing':
      return null
    case 'null':
      return 'null'
    case 'string':
      return `"${value}"`
    case 'float':
      return `${value}.5`
    case 'nan':
      return '"NaN"'
    case 'negative':
      return '-1'
    case 'huge':
      // One more than JavaScript can count to: written out, since the number itself would be rounded.
      return '9007199254740993'
    case 'text':
      return '"lots"'
    case 'zero':
      return '0'
    default:
      throw unhandled('form', form)
  }
}

const bodies: Readonly<Record<Exclude<Kind<'body'>['body'], 'half' | 'bytes' | 'deep'>, string>> = {
  html: '<!doctype html><title>Sorry</title><h1>We will be back soon</h1>',
  empty: '',
  null: 'null',
  array: '[1, 2, 3]',
  string: '"x"',
  refusal:
    '{"success":false,"error":{"code":"QUOTA_EXCEEDED","message":"No credits left","documentation":"https://docs.example.com/errors"}}',
}

/** Something else than an answer. */
export function oddBody(form: Kind<'body'>['body'], good: string): string | Buffer {
  if (form === 'half') return good.slice(0, good.length / 2)
  if (form === 'deep') {
    const depth = 200
    return `${good.slice(0, -1)},"nested":${'['.repeat(depth)}${']'.repeat(depth)}}`
  }
  if (form !== 'bytes') return bodies[form]
  const at = good.indexOf('"title":"') + '"title":"'.length
  const broken = Buffer.from([0xc3, 0x28, 0xff, 0xed, 0xa0, 0x80])
  return Buffer.concat([Buffer.from(good.slice(0, at)), broken, Buffer.from(good.slice(at))])
}

interface Loose {
  [field: string]: unknown
  organic_results: Record<string, unknown>[]
}

/** A good body with fields that nobody promised, or without some that everybody expects. */
export function oddFields(what: Kind<'fields'>['what'], good: string): string {
  const body = JSON.parse(good) as Loose
  bend[what](body)
  // JSON.stringify writes NUL and lone surrogates as escapes: exactly what a careless server sends.
  return JSON.stringify(body)
}

const bend: Readonly<Record<Kind<'fields'>['what'], (body: Loose) => void>> = {
  types(body) {
    const odd: Record<string, unknown>[] = [
      { position: '3' },
      { position: 1.5 },
      { position: null },
      { title: 7 },
      { url: null, domain: 12 },
      { snippet: ['a', 'b'] },
    ]
    body.organic_results.forEach((result, index) => Object.assign(result, odd[index % odd.length]))
    Object.assign(body, { intent: 5, sentiment: null, clusters: [1, null, 'fine', {}] })
    body['entities'] = [{ name: 'No type' }, { type: 'Nameless' }, 'just text', null]
  },
  missing(body) {
    for (const name of ['intent', 'sentiment', 'clusters', 'entities', 'related_searches']) {
      delete body[name]
    }
    body.organic_results.forEach((result, index) => {
      delete result[['position', 'title', 'snippet', 'domain'][index % 4] ?? '']
    })
  },
  extra(body) {
    body['ads'] = [{ title: 'Buy', url: 'https://ads.example/1', block: 'top' }]
    body['knowledge_graph'] = { title: 'A thing', facts: { born: 1815 } }
    body['featured_snippet'] = { text: 'An answer', url: 'https://www.example.com/' }
    for (const result of body.organic_results) result['sitelinks'] = [{ title: 'More' }]
  },
  characters(body) {
    const odd = [
      'a\u0000b',
      'lone \ud800 surrogate',
      'low \udc00',
      '\u202eright to left',
      '\u{1f3f4}',
    ]
    body.organic_results.forEach((result, index) => {
      result['title'] = odd[index % odd.length]
      result['snippet'] = `tab\tand\nline ${odd[(index + 1) % odd.length]}`
    })
    body['intent'] = 'in\u0000formational'
    body['related_searches'] = odd
  },
  positions(body) {
    const odd = [1, 1, 0, -4, 3_000_000_000, 2]
    body.organic_results.forEach((result, index) => {
      result['position'] = odd[index % odd.length]
    })
  },
  urls(body) {
    const odd = [
      `https://long.example/${'a'.repeat(10_000)}`,
      'https://same.example/page',
      'https://same.example/page',
      'javascript:alert(1)',
      'not an address',
      'https://xn--mnchen-3ya.example/stra%C3%9Fe?utm_source=x#part',
    ]
    body.organic_results.forEach((result, index) => {
      result['url'] = odd[index % odd.length]
    })
  },
  shapes(body) {
    const results: unknown = { first: body.organic_results[0] }
    Object.assign(body, { organic_results: results, clusters: null, related_searches: 'one' })
    body['entities'] = { name: 'Not a list', type: 'Thing' }
  },
  empty(body) {
    Object.assign(body, { organic_results: [], clusters: [], entities: [], related_searches: [] })
  },
}
