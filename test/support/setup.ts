// Runs once before all tests and once after them, even when some fail.
import type { TestProject } from 'vitest/node'
import { openRedis } from './redis-server.ts'
import { openServer } from './server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    adminUrl: string
    template: string
    redisPort: number
  }
}

/** Starts what the tests of one run share, and gives the function that ends it. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const redis = await openRedis()
  try {
    const server = await openServer()
    project.provide('adminUrl', server.adminUrl)
    project.provide('template', server.template)
    project.provide('redisPort', redis?.port ?? 0)
    return async () => {
      await redis?.close()
      await server.close()
    }
  } catch (error) {
    await redis?.close()
    throw error
  }
}
