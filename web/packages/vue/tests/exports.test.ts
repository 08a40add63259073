import { expect, it } from 'vitest'

import * as horae from '../src'

it('exports exactly the public names', () => {
  expect(Object.keys(horae).sort()).toMatchInlineSnapshot(`
    [
      "DEFAULT_PACE",
      "DEFAULT_POLLING",
      "ENDED_STATES",
      "ERROR_JOB_DOES_NOT_EXIST",
      "ERROR_JOB_NOT_CANCELLABLE",
      "ERROR_MAX_JOB_COUNT_EXCEEDED",
      "HoraeError",
      "JOB_STATES",
      "JobTracker",
      "Loop",
      "MESSAGES",
      "PollLoop",
      "ProgressBar",
      "ProgressCircle",
      "StreamFeed",
      "Unauthorized",
      "Unreachable",
      "createClient",
      "createHorae",
      "followJob",
      "hasEnded",
      "horaeKey",
      "humanReadableState",
      "isCancelled",
      "isEndedState",
      "isFailed",
      "isFinished",
      "isOutdated",
      "isPending",
      "isStarted",
      "isUnfinished",
      "jobMixin",
      "jobsOfEvent",
      "labelOf",
      "labelTextOf",
      "messagesFor",
      "parseJobEvent",
      "shownError",
      "stateOf",
      "useHorae",
      "useJob",
      "useJobEnds",
      "useJobStore",
      "useJobs",
      "watchJobEnds",
    ]
  `)
})

/* eslint-disable @typescript-eslint/no-deprecated -- these tests are about the previous names */

it('still exports the previous names', () => {
  expect([horae.Loop, horae.jobsOfEvent, horae.DEFAULT_PACE]).toEqual([
    horae.PollLoop,
    horae.parseJobEvent,
    horae.DEFAULT_POLLING,
  ])
})

it('still accepts polling options under their previous name', () => {
  expect(horae.createHorae({ pace: { first: 50 } }).polling).toEqual({ first: 50 })
})
