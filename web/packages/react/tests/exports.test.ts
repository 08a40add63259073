import { expect, it } from 'vitest'

import * as client from '../../client/src'
import * as horae from '../src'

it('exports exactly the public names, beside those of the client', () => {
  const own = Object.keys(horae).filter((name) => !(name in client))
  expect(own.sort()).toEqual([
    'HoraeProvider',
    'ProgressBar',
    'ProgressCircle',
    'createHorae',
    'useHorae',
    'useJob',
    'useJobEnds',
    'useJobStore',
    'useJobs',
    'useStatus',
  ])
})
