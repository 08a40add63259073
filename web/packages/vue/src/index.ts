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
export { jobMixin, type JobMixinCallbacks } from './mixin/jobMixin'
export { useJobStore } from './store/jobs'
export { createHorae, horaeKey, useHorae, type Horae, type HoraeOptions } from './store/plugin'
export { Loop, type LoopOptions } from './tracking/loop'
export { jobsOfEvent, type JobNews } from './tracking/news'
export { DEFAULT_PACE, type PaceOptions } from './tracking/pace'
export { type TrackerStatus } from './tracking/pursuit'
export { JobTracker, type TrackerOptions } from './tracking/tracker'
