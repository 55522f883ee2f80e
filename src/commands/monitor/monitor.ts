import { probeDatabase } from '../../store/database.ts'
import { startOutlook } from '../mill/kept-outlook.ts'
import type { Mill } from '../mill/mill.ts'
import { startHealth } from './health.ts'
import { openMetrics, type TaskCounts } from './metrics.ts'
import { startNews } from './news.ts'

export interface MonitorOptions {
  readonly tell: (line: string) => void
  /** What this process itself lacks before it can work: one short line each. */
  readonly problems?: () => readonly string[]
  /** Sums of the worker in this process. */
  readonly counted?: () => TaskCounts
  /** Text of further metrics, such as those of the queue. */
  readonly more?: () => Promise<string>
}

/** What a long-lived process lets others see of itself: health checks, metrics, news. */
export interface Monitor {
  /** A paid request came back after so many seconds. */
  readonly observe: (seconds: number) => void
  /** The port that answers probes; null when MILL_METRICS_PORT is unset. */
  readonly port: number | null
  close(): Promise<void>
}

const newsEveryMs = 5_000

/** Health checks and metrics when a port is set, news when a webhook is; and the outlook, for whoever asks the tables. */
export async function startMonitor(mill: Mill, options: MonitorOptions): Promise<Monitor> {
  const { metricsPort, webhook, unattendedMs } = mill.config
  const { tell } = options
  // Unless somebody reads them, they are not even counted.
  const metrics =
    metricsPort === null
      ? null
      : openMetrics({
          db: mill.db,
          supplier: mill.supplier,
          floor: mill.config.creditFloor,
          ...options,
        })
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
  if (health !== null) tell(`health and metrics on http://127.0.0.1:${health.port}`)
  const news =
    webhook === null
      ? null
      : startNews(mill.db, { webhook, unattendedMs, tell, everyMs: newsEveryMs })
  const outlook = startOutlook(mill)
  return {
    observe: (seconds) => metrics?.observe(seconds),
    port: health?.port ?? null,
    close: async () => {
      await outlook.close()
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
