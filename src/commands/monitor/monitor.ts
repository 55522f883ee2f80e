import { startHealth } from './health.ts'
import type { Mill } from '../mill/mill.ts'
import { openMetrics, type Counted } from './metrics.ts'
import { probeDatabase } from '../../store/database.ts'
import { startTelling } from './telling.ts'

export interface SignsOptions {
  readonly tell: (line: string) => void
  /** What this process itself lacks before it can work: one short line each. */
  readonly problems?: () => readonly string[]
  /** Sums of the worker in this process. */
  readonly counted?: () => Counted
  readonly more?: () => Promise<string>
}

/** What a long-lived process shows of itself. */
export interface Signs {
  /** A paid request came back after so many seconds. */
  readonly observe: (seconds: number) => void
  /** The port that answers probes; null when MILL_METRICS_PORT is unset. */
  readonly port: number | null
  close(): Promise<void>
}

const newsEveryMs = 5_000

/** Health checks and metrics when a port is set, news when a webhook is: otherwise nothing. */
export async function showSigns(mill: Mill, options: SignsOptions): Promise<Signs> {
  const { metricsPort, webhook } = mill.config
  // Unless somebody reads them, they are not even counted.
  const metrics =
    metricsPort === null ? null : openMetrics({ db: mill.db, market: mill.market, ...options })
  const health =
    metrics === null || metricsPort === null
      ? null
      : await startHealth({
          port: metricsPort,
          problems: async () => [
            ...(await databaseProblems(mill)),
            ...(options.problems?.() ?? []),
          ],
          metrics: () => metrics.text(),
        })
  if (health !== null) options.tell(`health and metrics on http://127.0.0.1:${health.port}`)
  const news =
    webhook === null
      ? null
      : startTelling(mill.db, { url: webhook, tell: options.tell, everyMs: newsEveryMs })
  return {
    observe: (seconds) => metrics?.observe(seconds),
    port: health?.port ?? null,
    close: async () => {
      await news?.close()
      await health?.close()
    },
  }
}

async function databaseProblems({ db }: Mill): Promise<readonly string[]> {
  try {
    await probeDatabase(db)
    return []
  } catch {
    // The probe's message names the address; a probe of health may be read by others.
    return ['the database does not answer']
  }
}
