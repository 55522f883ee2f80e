// const guarded = await startGuarded() → a Redis with TLS and one user, whose rights are those of docs/operations.md.
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../src/base/embedded/process.ts'
import { root } from '../../src/base/root.ts'
import { startRedis } from './redis-server.ts'
import { temporaryFolder } from './place.ts'

/** The line of the page that says which rights a user of Redis needs. */
function rightsOfPage(): readonly string[] {
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  return (/^user querymill .*$/m.exec(page)?.[0] ?? '').split(' ').slice(1)
}

/** A certificate of one's own for this machine, and its key. */
function makeCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, 'redis.crt'), join(folder, 'redis.key')]
  // prettier-ignore
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1',
    '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  return { certificate, key }
}

export async function startGuarded() {
  const folder = temporaryFolder('guarded')
  const port = await freePort()
  const { certificate, key } = makeCertificate(folder)
  // prettier-ignore
  const server = await startRedis(['--tls-port', String(port), '--tls-cert-file', certificate, '--tls-key-file', key,
    '--tls-auth-clients', 'no', '--user', 'default', 'off', '--user', ...rightsOfPage()])
  return {
    url: `rediss://querymill:PASSWORD@localhost:${port}`,
    plainUrl: `redis://querymill:wrong@127.0.0.1:${server.port}`,
    certificate,
    close: async () => {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
