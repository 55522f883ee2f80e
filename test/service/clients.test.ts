// @module-tag slow
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { root } from '../../src/base/root.ts'
import { openShop, type Shop } from './shop.ts'

const runFile = promisify(execFile)

interface Parameter {
  readonly name: string
  readonly in: string
  readonly schema: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly operationId?: string
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, { readonly headers?: object }>>
}

interface Document {
  readonly info: { readonly license?: object }
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

let shop: Shop
let key: string
let description: Document

beforeAll(async () => {
  shop = await openShop()
  key = await shop.live()
  description = (await shop.ask('/openapi.json')).json as unknown as Document
})
afterAll(() => shop.service.close())

// The generator uses a compiler that has a programming interface.
const resolver = `
export const resolve = (name, context, next) => next(name === 'typescript' ? 'typescript-5' : name, context)
`
const hook = `
import { register } from 'node:module'
register('./resolver.mjs', import.meta.url)
`
const mustFail = ['@ts', 'expect', 'error'].join('-')

const program = `
import createClient from 'openapi-fetch'
import type { paths } from './api.js'

const [baseUrl = '', key = ''] = process.argv.slice(2)
const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + key } })
const query = { q: 'tea', num: 5, hl: 'pt-BR', gl: 'BR', device: 'mobile' } as const
const header = { 'idempotency-key': 'generated' }
const found = await client.GET('/v1/search', { params: { query, header } })
const used = await client.GET('/v1/usage', { params: { query: { days: 3 } } })
// ${mustFail}: no such device
const wrong = await client.GET('/v1/search', { params: { query: { q: 'tea', device: 'watch' } } })
console.log(JSON.stringify([
  found.data?.organic_results.length,
  found.data?.credits_remaining,
  used.data?.credits_used,
  wrong.error?.error.code,
  found.data?.interpretation?.corrections.map(({ from, to }) => from + to) ?? 'as sent',
]))
`

/** Generates a client from a description, compiles it, and returns its folder. */
async function generate(document: Document): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'client-'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(document))
  writeFileSync(join(folder, 'client.ts'), program)
  writeFileSync(join(folder, 'resolver.mjs'), resolver)
  writeFileSync(join(folder, 'hook.mjs'), hook)
  const cli = join(root, 'node_modules/openapi-typescript/bin/cli.js')
  const args = ['--import', './hook.mjs', cli, 'openapi.json', '-o', 'api.d.ts']
  await runFile(process.execPath, args, { cwd: folder })
  const options = '--noEmit --strict --module nodenext --target es2023 --types node --skipLibCheck'
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  await runFile(process.execPath, [tsc, ...options.split(' '), 'client.ts'], { cwd: folder })
  return folder
}

/** A validator for one of the document's schemas. */
function validator(document: Document, name: string): z.ZodType {
  const text = JSON.stringify(document.components.schemas)
  const $defs = JSON.parse(text.replaceAll('#/components/schemas/', '#/$defs/')) as object
  return z.fromJSONSchema({ $ref: `#/$defs/${name}`, $defs } as never)
}

describe('a client generated from the description', () => {
  test('typed by openapi-typescript calls every operation', async () => {
    const folder = await generate(description)
    expect(readFileSync(join(folder, 'api.d.ts'), 'utf8')).toContain('/v1/usage')
    const args = ['--import', 'tsx', 'client.ts', description.servers[0]?.url ?? '', key]
    const { stdout } = await runFile(process.execPath, args, { cwd: folder })
    expect(JSON.parse(stdout)).toEqual([5, 999, 1, 'BAD_REQUEST', 'as sent'])
  })

  test('validated by zod accepts the response of every operation, success or error', async () => {
    const calls = [
      ['/v1/search?q=tea', 'SearchResponse'],
      ['/v1/usage', 'UsageResponse'],
      ['/v1/search', 'ErrorResponse'],
      ['/v1/nowhere', 'ErrorResponse'],
    ] as const
    for (const [path, schema] of calls) {
      const { json } = await shop.ask(path, key)
      expect(validator(description, schema).safeParse(json).error).toBeUndefined()
    }
    const wrong = { success: true, query: 1 }
    expect(validator(description, 'SearchResponse').safeParse(wrong).success).toBe(false)
  })

  test('sends what the service accepts: the patterns of the parameters match only valid values', () => {
    const { parameters } = description.paths['/v1/search']?.get ?? { parameters: [] }
    const schemaOf = (name: string) =>
      z.fromJSONSchema(parameters.find((one) => one.name === name)?.schema ?? {})
    for (const [name, good, bad] of [
      ['q', 'tea', 'x'.repeat(2049)],
      ['hl', 'pt-BR', 'english please'],
      ['gl', 'US', 'usa'],
      ['num', 100, 101],
      ['device', 'tablet', 'watch'],
    ] as const) {
      expect([name, schemaOf(name).safeParse(good).success]).toEqual([name, true])
      expect([name, schemaOf(name).safeParse(bad).success]).toEqual([name, false])
    }
  })
})

describe('the description', () => {
  test('names its paths relative to the base address', () => {
    expect(Object.keys(description.paths)).toEqual(['/v1/search', '/v1/usage'])
    expect(description.servers).toEqual([{ url: shop.service.url }])
  })

  test('names defaults, licence, operations, and the headers of every response', () => {
    const { info, paths } = description
    expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
    const operations = Object.values(paths).map(({ get }) => get)
    expect(operations.map(({ operationId }) => operationId)).toEqual(['search', 'usage'])
    for (const { responses } of operations) {
      const named = Object.values(responses).filter(({ headers = {} }) => 'X-Request-Id' in headers)
      expect(named).toHaveLength(Object.keys(responses).length)
      expect(Object.keys(responses)).toEqual(
        expect.arrayContaining(['404', '405', '413', '414', '431']),
      )
    }
    const defaults = operations[0]?.parameters.flatMap(({ name, schema }) =>
      schema['default'] === undefined ? [] : [[name, schema['default']]],
    )
    expect(defaults).toEqual([
      ['hl', 'en'],
      ['num', 10],
      ['device', 'desktop'],
    ])
  })

  test('and the links of errors use the public address if there is one', async () => {
    const publicUrl = 'https://search.example.com/api/'
    const lone = await openShop({ publicUrl })
    const named = (await lone.ask('/openapi.json')).json as unknown as Document
    expect(named.servers).toEqual([{ url: 'https://search.example.com/api' }])
    expect((await lone.ask('/v1/search')).json.error?.documentation).toBe(
      'https://search.example.com/api/docs/authentication',
    )
    await lone.service.close()
  })
})
