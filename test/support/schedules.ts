/** Number of schedules that the model of the ledger runs; MODEL_RUNS requests more, MODEL_SEED others. */
export const modelRuns = Number(process.env['MODEL_RUNS'] ?? 20_000)
/** The number in `npm test`. */
export const fewModelRuns = Math.min(modelRuns, 3_000)

export const modelSeed = Number(process.env['MODEL_SEED'] ?? 4)

/** Schedules of messages that the model of a fleet runs; SCHEDULES requests more. */
export const messageRuns = Number(process.env['SCHEDULES'] ?? 40_000)
/** The number in `npm test`. */
export const fewMessageRuns = Math.min(messageRuns, 2_000)

/** Seeds of the random histories with which views are checked; HISTORIES requests more or fewer. */
export const histories = Array.from(
  { length: Number(process.env['HISTORIES'] ?? 8) },
  (_, seed) => seed + 1,
)
