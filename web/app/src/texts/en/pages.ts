/** The titles of the pages, by the name of their route. */
export const pages = {
  overview: 'Overview',
  jobs: 'Jobs',
  errors: 'Errors',
  schedules: 'Schedules',
  queues: 'Queues',
  types: 'Types',
  limits: 'Limits',
  nodes: 'Nodes',
  deployments: 'Deployments',
  changes: 'Changes',
  'not-found': 'Page not found',
}
