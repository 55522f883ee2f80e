import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { parse } from 'yaml'
import { z } from 'zod'
import { describe, expect, test } from 'vitest'
import { root } from '../../src/base/root.ts'
import { settings } from '../../src/base/settings.ts'
import { importsOf } from './imports.ts'
import { keysShown, settingsShown } from './papers.ts'
import { readTree } from './tree.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')

const service = z.looseObject({
  command: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  stop_grace_period: z.string().optional(),
  init: z.boolean().default(false),
  env_file: z.array(z.string()).default([]),
  image: z.string(),
})
const compose = z
  .looseObject({
    services: z.record(z.string(), service),
    volumes: z.record(z.string(), z.null()),
    configs: z.record(z.string(), z.object({ content: z.string() })),
  })
  .parse(parse(read('docker-compose.yml'), { merge: true }))
const services = Object.entries(compose.services)

/** The source of the compiled program that a command starts. */
function sourceOf(command: readonly string[]): string | null {
  const program = command.slice(1).find((word) => !word.startsWith('-'))
  const file = /^dist\/(jobs\/\w+)\.js$/.exec(program ?? '')?.[1]
  return file === undefined ? null : `${file}.ts`
}

/** Checks a Compose file against the JSON schema of the Compose specification, which a linter of Compose files ships. */
function composeErrors(file: unknown) {
  const schema = z
    .record(z.string(), z.unknown())
    .parse(JSON.parse(read('node_modules/dclint/schemas/compose.schema.json')))
  const check = new Ajv({
    ...{ strict: false, validateSchema: false, allErrors: true },
    formats: { duration: true },
  }).compile(schema)
  check(file)
  return (check.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

describe('the Compose file', () => {
  test('follows the schema of the Compose specification', () => {
    const file = z
      .looseObject({ services: z.record(z.string(), z.looseObject({})) })
      .parse(parse(read('docker-compose.yml'), { merge: true }))
    expect(composeErrors(file)).toEqual([])
    const misspelt = { ...file.services['worker'], stop_graceperiod: '90s' }
    expect(composeErrors({ ...file, services: { worker: misspelt } })).toEqual([
      expect.stringContaining('must NOT have additional properties'),
    ])
  })

  test('every port is bound to loopback', () => {
    const ports = services.flatMap(([, { ports: bound }]) => bound)
    expect(ports.length).toBeGreaterThan(0)
    expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([])
  })

  test('every command is a list that starts an existing program', () => {
    const commands = services.flatMap(([, { command }]) => (command === undefined ? [] : [command]))
    const ours = commands.filter(([program]) => program === 'node').map(sourceOf)
    expect(ours.length).toBeGreaterThan(2)
    expect(ours.filter((file) => file === null || !existsSync(join(root, file)))).toEqual([])
    expect(commands.flat().filter((word) => /^(npm|npx|sh|bash)$/.test(word))).toEqual([])
  })

  test('no password and no secret has a default', () => {
    const text = read('docker-compose.yml')
    const secrets = [...text.matchAll(/\$\{(\w*(?:PASSWORD|SECRET|KEY)\w*)(:?[-?])?([^}]*)\}/g)]
    expect(secrets.length).toBeGreaterThan(3)
    expect(secrets.filter(([, , sign, rest]) => sign !== ':?' && rest !== '')).toEqual([])
  })

  test('each dependency on health refers to a service with a health check', () => {
    const needs = services.flatMap(([, { depends_on: needed }]) => Object.entries(needed))
    const healthy = needs.filter(([, { condition }]) => condition === 'service_healthy')
    expect(healthy.length).toBeGreaterThan(2)
    expect(needs.filter(([name]) => compose.services[name] === undefined)).toEqual([])
    const unchecked = healthy.filter(([name]) => compose.services[name]?.healthcheck === undefined)
    expect(unchecked).toEqual([])
  })

  test('a worker has more time to stop than a call may take, and an init that forwards signals', () => {
    const worker = compose.services['worker']
    const fallback = /MILL_TIMEOUT_MS=(\d+)/.exec(read('.env.example'))?.[1]
    expect(Number.parseInt(worker?.stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(
      Number(fallback),
    )
    expect(worker?.init).toBe(true)
  })

  test('only services that buy get the key', () => {
    const given = services.filter(([, { env_file: files }]) => files.includes('.env'))
    expect(given.map(([name]) => name)).toEqual(['worker', 'scheduler'])
  })

  test('Redis keeps its jobs: nothing is evicted, everything is written to disk', () => {
    const words = compose.services['redis']?.command?.join(' ') ?? ''
    expect(words).toContain('--maxmemory-policy noeviction')
    expect(words).toContain('--appendonly yes')
    expect(words).toContain('--requirepass')
  })

  test('every external image has a version', () => {
    const loose = services.filter(([, { image }]) => !/:.*\d|:local$/.test(image))
    expect(loose.map(([name]) => name)).toEqual([])
  })

  test('the metasearch without a secret ends at once and says what to set', () => {
    const { services: all } = z
      .looseObject({
        services: z.looseObject({ searxng: z.object({ entrypoint: z.array(z.string()) }) }),
      })
      .parse(parse(read('docker-compose.yml')))
    const [shell = '', ...args] = all.searxng.entrypoint.map((word) => word.replaceAll('$$', '$'))
    const { status, stderr } = spawnSync(shell, args, { env: { SEARXNG_SECRET: '' } })
    expect(status).toBe(64)
    expect(String(stderr)).toMatch(/^expected SEARXNG_SECRET to be set in \.env, got nothing/)
  })

  test('the settings of the metasearch are readable, and allow programs', () => {
    const metasearch = z
      .looseObject({ search: z.object({ formats: z.array(z.string()) }) })
      .parse(parse(compose.configs['searxng']?.content ?? ''))
    expect(metasearch.search.formats).toContain('json')
  })
})

describe('the image', () => {
  const dockerfile = read('Dockerfile')

  test('every file that it copies exists, and passes the ignore list', () => {
    const letIn = read('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1))
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, files]) =>
      (files ?? '').split(' '),
    )
    expect(copied.length).toBeGreaterThan(5)
    expect(copied.filter((file) => !existsSync(join(root, file)))).toEqual([])
    expect(copied.filter((file) => !letIn.includes(file.split('/')[0] ?? ''))).toEqual([])
  })

  test('its compiled files need nothing that it does not copy', () => {
    const { exclude } = z
      .looseObject({ exclude: z.array(z.string()) })
      .parse(JSON.parse(read('tsconfig.build.json')))
    const compiled = readTree(['src', 'jobs'], ['.ts'])
    const outside = importsOf(compiled).filter(
      ({ from, to, outside: library }) =>
        !library && !exclude.includes(from) && !/^(src|jobs)\//.test(to),
    )
    expect(outside).toEqual([])
  })

  test('it runs as an unprivileged user, without a shell in between', () => {
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile.trimEnd().split('\n').at(-1)).toMatch(
      /^CMD \["node", (?:"--[\w-]+=\d+", )?"dist\/jobs\/\w+\.js"\]$/,
    )
    expect([...dockerfile.matchAll(/^(?:RUN|CMD|ENTRYPOINT) (?!\[)/gm)]).toEqual([])
  })
})

describe('the example of settings', () => {
  test('it contains every setting once, and nothing else', () => {
    const ofContainers = ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'SEARXNG_SECRET']
    const shown = settingsShown(read('.env.example'))
    expect(shown.toSorted()).toEqual([...Object.keys(settings), ...ofContainers].toSorted())
  })

  test('it holds no key that could be real', () => {
    expect(keysShown(read('.env.example'))).toEqual([])
  })
})
