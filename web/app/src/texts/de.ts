import type { Texts } from './en'
import { charts } from './de/charts'
import { common } from './de/common'
import { errors } from './de/errors'
import { fleet } from './de/fleet'
import { groups } from './de/groups'
import { job } from './de/job'
import { jobPage } from './de/jobPage'
import { jobs } from './de/jobs'
import { journal } from './de/journal'
import { keyboard } from './de/keyboard'
import { layout } from './de/layout'
import { limits } from './de/limits'
import { now } from './de/now'
import { pages } from './de/pages'
import { palette } from './de/palette'
import { queues } from './de/queues'
import { schedules } from './de/schedules'
import { sentences } from './de/sentences'
import { session } from './de/session'
import { time } from './de/time'
import { types } from './de/types'

/** The German texts. Readers are addressed with “Sie”; buttons are infinitives (“Anhalten”). */
export const de: Texts = {
  charts,
  common,
  errors,
  fleet,
  groups,
  job,
  jobPage,
  jobs,
  journal,
  keyboard,
  layout,
  limits,
  now,
  pages,
  palette,
  queues,
  schedules,
  sentences,
  session,
  time,
  types,
}
