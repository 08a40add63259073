// The previous names of exports. They will be removed in the release after the next one.
import {
  DEFAULT_POLLING,
  parseJobEvent,
  PollLoop,
  type JobChanges,
  type PollingOptions,
  type PollLoopOptions,
} from '@horae/client'

/** @deprecated Renamed to `PollLoop`. */
export const Loop = PollLoop
/** @deprecated Renamed to `PollLoop`. */
export type Loop = PollLoop
/** @deprecated Renamed to `PollLoopOptions`. */
export type LoopOptions = PollLoopOptions
/** @deprecated Renamed to `parseJobEvent`. */
export const jobsOfEvent = parseJobEvent
/** @deprecated Renamed to `JobChanges`. */
export type JobNews = JobChanges
/** @deprecated Renamed to `DEFAULT_POLLING`. */
export const DEFAULT_PACE = DEFAULT_POLLING
/** @deprecated Renamed to `PollingOptions`. */
export type PaceOptions = PollingOptions
