export type {
  CreateJob,
  GetJob,
  JobOf,
  JobTypes,
  JobTypesOf,
  NameOf,
  StartArguments,
} from './api/jobTypes'
export type { Job, JobAttempt, JobDetail, JobId, JobPage, JobQuery, Me } from './api/model'
export type { components, paths } from './api/schema'
export { createClient, type ClientOptions, type HoraeClient, type JobsApi } from './client/client'
export {
  ERROR_JOB_DOES_NOT_EXIST,
  ERROR_JOB_NOT_CANCELLABLE,
  ERROR_MAX_JOB_COUNT_EXCEEDED,
  HoraeError,
  Unauthorized,
  Unreachable,
} from './client/errors'
export type { Query, RequestOptions, Transport, TransportOptions } from './client/transport'
export type { Cell, CreateCell } from './events/cell'
export {
  StreamFeed,
  type EventFeed,
  type FeedListener,
  type FeedOptions,
  type FeedStatus,
} from './events/feed'
export type { ServerSentEvent } from './events/parser'
export { MESSAGES, messagesFor, type Messages } from './i18n/messages'
export type { JobEndCallbacks } from './job/ends'
export {
  ENDED_STATES,
  hasEnded,
  isCancelled,
  isEndedState,
  isFailed,
  isFinished,
  isOutdated,
  isPending,
  isStarted,
  isUnfinished,
  JOB_STATES,
  labelOf,
  stateOf,
  type EndedState,
  type JobState,
} from './job/states'
export {
  humanReadableState,
  labelTextOf,
  shownError,
  type LabelText,
  type ShownError,
} from './job/wording'
export { followJob, type FollowOptions } from './tracking/followJob'
export { parseJobEvent, type JobChanges } from './tracking/jobEvents'
export type { TrackerStatus } from './tracking/poller'
export { DEFAULT_POLLING, type PollingOptions } from './tracking/polling'
export { PollLoop, type PollLoopOptions } from './tracking/pollLoop'
export { JobTracker, type TrackerOptions } from './tracking/tracker'
export { watchJobEnds } from './tracking/watchJobEnds'
