import { charts } from './en/charts'
import { common } from './en/common'
import { errors } from './en/errors'
import { fleet } from './en/fleet'
import { groups } from './en/groups'
import { job } from './en/job'
import { jobPage } from './en/jobPage'
import { jobs } from './en/jobs'
import { journal } from './en/journal'
import { keyboard } from './en/keyboard'
import { layout } from './en/layout'
import { limits } from './en/limits'
import { now } from './en/now'
import { pages } from './en/pages'
import { palette } from './en/palette'
import { queues } from './en/queues'
import { schedules } from './en/schedules'
import { sentences } from './en/sentences'
import { session } from './en/session'
import { time } from './en/time'
import { types } from './en/types'

/** The English texts, one section for each view. Other languages have the same sections. */
export const en = {
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

/** A text for each thing that the dashboard says. A language that lacks one is a type error. */
export type Texts = typeof en
