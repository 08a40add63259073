import type { Texts } from '../en'

export const pages: Texts['pages'] = {
  overview: 'Übersicht',
  jobs: 'Jobs',
  errors: 'Fehler',
  schedules: 'Zeitpläne',
  queues: 'Warteschlangen',
  types: 'Typen',
  limits: 'Limits',
  nodes: 'Knoten',
  deployments: 'Deployments',
  changes: 'Änderungen',
  'not-found': 'Seite nicht gefunden',
}
