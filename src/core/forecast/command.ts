// The `npm run forecast` command: prints the forecast.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { openMill } from '../mill.ts'
import { forecastJson, forecastLines, readCreditForecast } from './foresee.ts'
import { refreshForecast } from './stored-forecast.ts'

export async function showForecast({
  options,
  env,
  closers,
}: Call<{ readonly days: number; readonly keep?: true }>): Promise<Exit> {
  const config = readConfig(env)
  const reading = options.keep !== true
  const mill = await openMill({ config, closers, say, name: 'forecast', reading })
  if (options.keep === true && !(await refreshForecast(mill, { now: true }))) {
    say(
      'no forecast was stored, because no call has been made for this account yet or the account is a test account',
    )
  }
  const forecast = await readCreditForecast(mill, { days: options.days })
  if (options.json === true) printJson(forecastJson(forecast))
  else print(forecastLines(forecast, config.zone).join('\n'))
  return exits.done
}
