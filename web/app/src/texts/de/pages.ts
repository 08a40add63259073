import type { Texts } from '../en'

export const pages: Texts['pages'] = {
  now: 'Jetzt',
  jobs: 'Jobs',
  errors: 'Fehler',
  schedules: 'Zeitpläne',
  queues: 'Warteschlangen',
  types: 'Typen',
  limits: 'Limits',
  fleet: 'Knoten',
  journal: 'Journal',
  'not-found': 'Seite nicht gefunden',
}
