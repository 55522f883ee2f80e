// @module-tag slow
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { root } from '../../src/base/root.ts'
import { settings } from '../../src/base/settings.ts'

const file = join(root, 'docs', 'deploy', 'kubernetes.yaml')
const manifests = parseAllDocuments(readFileSync(file, 'utf8')).map((document) =>
  z.looseObject({ apiVersion: z.string(), kind: z.string() }).parse(document.toJS()),
)

const folder = mkdtempSync(join(tmpdir(), 'querymill-kubernetes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The types generated from the Kubernetes schema, by the API group of a manifest. */
const groups: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'batch/v1': 'batch/v1',
  'policy/v1': 'policy/v1',
}

/** Compiler errors for manifests that declare these kinds. */
function misfits(given: readonly { readonly apiVersion: string; readonly kind: string }[]): string {
  const lines = given.map((manifest, index) => {
    const types = join(root, 'node_modules', 'kubernetes-types', groups[manifest.apiVersion] ?? '')
    const type = `import(${JSON.stringify(`${types}.d.ts`)}).${manifest.kind}`
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest, null, 1)}`
  })
  const source = join(folder, 'manifests.ts')
  writeFileSync(source, lines.join('\n'))
  try {
    // prettier-ignore
    execFileSync(
      join(root, 'node_modules', '.bin', 'tsc'),
      ['--noEmit', '--strict', '--ignoreConfig', '--module', 'nodenext', '--types', '', source],
      { encoding: 'utf8', stdio: 'pipe' },
    )
    return ''
  } catch (error) {
    return z.object({ stdout: z.string() }).parse(error).stdout
  }
}

const container = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()),
  securityContext: z.looseObject({ readOnlyRootFilesystem: z.boolean() }),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
})
const pods = manifests.flatMap(({ kind, ...rest }) => {
  if (kind !== 'Deployment' && kind !== 'Job') return []
  const { spec } = z
    .looseObject({
      spec: z.looseObject({
        template: z.looseObject({
          spec: z.looseObject({
            containers: z.array(container),
            securityContext: z.looseObject({ runAsNonRoot: z.boolean() }),
            terminationGracePeriodSeconds: z.number().optional(),
          }),
        }),
      }),
    })
    .parse(rest)
  return [spec.template.spec]
})

describe('the manifests for Kubernetes', () => {
  test('match the schema of a cluster', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(
      // prettier-ignore
      [
        'Namespace', 'ConfigMap', 'PersistentVolumeClaim', 'Job', 'Deployment', 'Deployment', 'Deployment', 'Service',
        'PodDisruptionBudget',
      ],
    )
    expect(misfits(manifests)).toBe('')
  })

  test('would be rejected for a misspelled field', () => {
    const worker = manifests.find(({ kind }) => kind === 'Deployment')
    const bent = { ...worker, apiVersion: 'apps/v1', kind: 'Deployment', spce: {} }
    expect(misfits([bent])).toMatch(/spce.* does not exist in type 'Deployment'/)
  })

  test('run as an unprivileged user, and write only to their volumes', () => {
    expect(pods.length).toBeGreaterThan(2)
    for (const { containers, securityContext } of pods) {
      expect(securityContext.runAsNonRoot).toBe(true)
      for (const one of containers) expect(one.securityContext.readOnlyRootFilesystem).toBe(true)
    }
  })

  test('contain no secret, and give a worker more time to stop than a call may take', () => {
    const containers = pods.flatMap((pod) => pod.containers)
    const plain = containers.flatMap(({ env }) => env.filter(({ value }) => value !== undefined))
    expect(plain.map(({ name }) => name).filter((name) => name !== 'MILL_HOME')).toEqual([])
    const worker = pods.find((pod) => pod.containers[0]?.name === 'worker')
    expect(worker?.terminationGracePeriodSeconds).toBeGreaterThan(30)
  })

  test('mount only claims and select only pods that they define', () => {
    const made = z.looseObject({ metadata: z.object({ name: z.string() }) })
    const claims = manifests
      .filter(({ kind }) => kind === 'PersistentVolumeClaim')
      .map((manifest) => made.parse(manifest).metadata.name)
    const text = readFileSync(file, 'utf8')
    const mounted = [...text.matchAll(/claimName: ([\w-]+)/g)].map(([, name]) => name)
    expect(mounted).toEqual(claims)
    expect(claims.length).toBeGreaterThan(0)
    const parts = (of: RegExp) => new Set([...text.matchAll(of)].map(([, part]) => part))
    const labels = parts(/labels: \{ app: querymill, part: (\w+) \}/g)
    const selected = parts(/(?:selector|matchLabels): \{ app: querymill, part: (\w+) \}/g)
    expect([...selected].filter((part) => !labels.has(part))).toEqual([])
  })

  test('name existing settings and programs', () => {
    const { data } = z
      .looseObject({ data: z.record(z.string(), z.string()) })
      .parse(manifests.find(({ kind }) => kind === 'ConfigMap'))
    const known: readonly string[] = Object.keys(settings)
    const named = pods.flatMap((pod) => pod.containers.flatMap(({ env }) => env))
    const given = [...Object.keys(data), ...named.map(({ name }) => name)]
    expect(given.filter((name) => !known.includes(name))).toEqual([])
    const commands = pods.flatMap((pod) =>
      pod.containers.map(({ command }) => command.find((word) => word.startsWith('dist/'))),
    )
    expect(commands).toEqual([
      'dist/jobs/migrate.js',
      'dist/jobs/work.js',
      'dist/jobs/nightly.js',
      'dist/jobs/desk.js',
    ])
  })
})
