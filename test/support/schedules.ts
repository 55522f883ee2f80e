/** Schedules that the model of the ledger lives through; MODEL_RUNS asks for more, MODEL_SEED for others. */
export const modelRuns = Number(process.env['MODEL_RUNS'] ?? 20_000)

export const modelSeed = Number(process.env['MODEL_SEED'] ?? 4)
