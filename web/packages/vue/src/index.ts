export type { Job, JobAttempt, JobDetail, JobId, JobPage, JobQuery } from './api/model'
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
export { default as ProgressBar } from './components/ProgressBar.vue'
export type { UseJobOptions, UseJobReturn } from './composables/jobHandle'
export { useJob } from './composables/useJob'
export type { JobEndCallbacks } from './composables/useJobEnd'
export {
  StreamFeed,
  type EventFeed,
  type FeedListener,
  type FeedOptions,
  type FeedStatus,
} from './events/feed'
export type { ServerSentEvent } from './events/parser'
export { MESSAGES, messagesFor, type Messages } from './i18n/messages'
export {
  ENDED_STATES,
  hasEnded,
  isEndedState,
  isOutdated,
  JOB_STATES,
  stateOf,
  type EndedState,
  type JobState,
} from './job/states'
export { humanReadableState, shownError, type LabelText, type ShownError } from './job/wording'
export { jobMixin, type JobMixinCallbacks } from './composables/jobMixin'
export { useJobStore } from './store/jobs'
export { createHorae, horaeKey, useHorae, type Horae, type HoraeOptions } from './store/plugin'
export { parseJobEvent, type JobChanges } from './tracking/jobEvents'
export { type TrackerStatus } from './tracking/poller'
export { DEFAULT_POLLING, type PollingOptions } from './tracking/polling'
export { PollLoop, type PollLoopOptions } from './tracking/pollLoop'
export { JobTracker, type TrackerOptions } from './tracking/tracker'
export * from './deprecated'
