import type { KnipConfig } from 'knip'

const forDevelopers = '!jobs/{bench,chaos,stand-in}.ts!'

/**
 * With --production only the programs count that users start: what no program uses is told, also where tests do. What a
 * file uses itself and exports for its tests is no fault then.
 */
export default function configOf({
  production = false,
}: {
  readonly production?: boolean | undefined
}): KnipConfig {
  return {
    entry: [
      'jobs/*.ts!',
      forDevelopers,
      'src/features/package/package.ts!',
      'test/**/*.test.ts',
      'test/support/{setup,generate,pictures,tour,build-corpus}.ts',
      'test/bench/*.ts',
      'test/{whole/mortal,mutants/run,base/embedded/{child,move}}.ts',
    ],
    project: ['src/**/*.ts!', 'jobs/**/*.ts!', forDevelopers, 'test/**/*.ts'],
    ignoreBinaries: [
      'faketime',
      'mkfifo',
      'mount',
      'openssl',
      'umount',
      'prometheus',
      'promtool',
      'redis-sentinel',
      'redis-server',
      'systemd-analyze',
    ],
    ignoreDependencies: [
      'axe-core',
      'dclint',
      'kubernetes-types',
      'kysely-codegen',
      'openapi-fetch',
      'openapi-typescript',
    ],
    ignoreExportsUsedInFile: production || { interface: true, type: true },
  }
}
