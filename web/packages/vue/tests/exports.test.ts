import { expect, it } from 'vitest'

import * as horae from '../src'

it('exports what the README names and nothing by accident', () => {
  expect(Object.keys(horae).sort()).toMatchInlineSnapshot(`
    [
      "DEFAULT_PACE",
      "ENDED_STATES",
      "ERROR_JOB_DOES_NOT_EXIST",
      "ERROR_JOB_NOT_CANCELLABLE",
      "ERROR_MAX_JOB_COUNT_EXCEEDED",
      "HoraeError",
      "JOB_STATES",
      "JobTracker",
      "Loop",
      "MESSAGES",
      "ProgressBar",
      "StreamFeed",
      "Unauthorized",
      "Unreachable",
      "createClient",
      "createHorae",
      "hasEnded",
      "horaeKey",
      "humanReadableState",
      "isEndedState",
      "isOutdated",
      "jobMixin",
      "jobsOfEvent",
      "messagesFor",
      "shownError",
      "stateOf",
      "useHorae",
      "useJob",
      "useJobStore",
    ]
  `)
})
