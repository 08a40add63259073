/** The titles of the pages, by the name of their route. */
export const pages = {
  now: 'Now',
  jobs: 'Jobs',
  errors: 'Errors',
  schedules: 'Schedules',
  queues: 'Queues',
  types: 'Types',
  limits: 'Limits',
  fleet: 'Fleet',
  journal: 'Journal',
  'not-found': 'Page not found',
}
