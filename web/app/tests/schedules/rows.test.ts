import { expect, it } from 'vitest'

import type { Schedule } from '@/api/schedules'
import { sorted } from '@/schedules/rows'

const scheduleOf = (name: string, module = '', failures = 0): Schedule =>
  ({
    name,
    module,
    disabled_reason: null,
    statistics: { consecutive_failures: failures, consecutive_crashes: 0 },
  }) as Schedule

it('puts schedules that fail first, and names with numbers in the order of the numbers', () => {
  const rows = [
    scheduleOf('fails', 'shop', 2),
    ...['1', '10', '11', '2'].map((name) => scheduleOf(name)),
    scheduleOf('step 10', 'shop'),
    scheduleOf('step 9', 'shop'),
  ]
  const names = sorted(rows, { by: 'failing', reversed: false }).map(({ name }) => name)
  expect(names).toEqual(['fails', '1', '2', '10', '11', 'step 9', 'step 10'])
  expect(sorted(rows, { by: 'failing', reversed: true }).at(-1)?.name).toBe('fails')
})
