import { countText, plural } from '@/format/number'

import type { Texts } from '../en'

const jobCount = (count: number): string => plural(count, 'Job', 'Jobs')

export const errors: Texts['errors'] = {
  title: 'Fehler',
  range: 'Zeitraum',
  ranges: {
    hour: 'Letzte Stunde',
    day: 'Letzte 24 Stunden',
    week: 'Letzte 7 Tage',
    month: 'Letzte 30 Tage',
  },
  sinceDeployment: 'Seit einem Deployment',
  sinceNewest: 'Seit dem neuesten Deployment',
  deployment: (module, key, ago) => `${module} ${key} (${ago})`,
  onlyNew: 'Nur neue',
  only: 'Nur',
  allTypes: 'Alle Typen',
  byType: 'Fehlschläge nach Typ',
  moreTypes: (count) => `${countText(count)} weitere`,

  noneNew: 'Keine neuen Fehler in dieser Zeit',
  noneNewReason:
    'Ein Fehler ist neu, wenn er zuerst nach einem Deployment auftrat: Davor schlug derselbe Jobtyp nicht mit derselben Ausnahme an derselben Stelle Ihres Programms fehl, soweit dieser Zeitraum zurückreicht.',
  none: 'In dieser Zeit ist nichts fehlgeschlagen',
  noneReason:
    'Fehlgeschlagene Versuche erscheinen hier in Gruppen mit einer gemeinsamen Ursache: derselbe Jobtyp, dieselbe Ausnahme und dieselbe Stelle in Ihrem Programm. Eine Gruppe lässt sich als Ganzes wiederholen oder löschen.',
  noneHint:
    'Geben Sie in der Deklaration eines Jobs an, welche Fehler von selbst vergehen; dann werden seine Versuche wiederholt:',
  incomplete: (count) =>
    `Es gibt zu viele Fehlschläge, um alle zu zählen. Dies sind die neuesten ${countText(count)}; ein kürzerer Zeitraum zeigt alle.`,

  withoutException: 'Ohne Ausnahme',
  withoutText: 'Er endete ohne den Text eines Fehlers.',
  newSince: (key) => `neu seit Deployment ${key}`,
  at: 'bei',
  failures: 'Fehlschläge',
  first: 'Zuerst',
  last: 'Zuletzt',
  latest: (id) => `Zuletzt: Job ${id}`,
  open: (id) => `Job ${id} öffnen`,
  traceback: 'Traceback',
  noTraceback: 'Es gibt keinen Traceback: Keine Ausnahme des Programms hat diesen Versuch beendet.',
  allRetried: 'Alle wurden wiederholt.',
  noneFailedForGood: 'Kein Job ist endgültig fehlgeschlagen: Jeder wurde oder wird wiederholt.',

  actions: { retry: 'Wiederholen', delete: 'Löschen' },
  actionOn: (action, count) => `${jobCount(count)} ${action.toLowerCase()}`,
  ask: (action, errorClass) =>
    `Alle Jobs ${action.toLowerCase()}, die mit ${errorClass ?? 'diesem Fehler'} fehlschlugen?`,
  counting: 'Wird gezählt …',
  nothingLeft: 'Es ist kein Job mehr da: Alle wurden inzwischen wiederholt oder gelöscht.',
  wouldChange: (action, count, complete, type) =>
    `${complete ? jobCount(count) : `mindestens ${countText(count)} Jobs`} vom Typ ${type} ${action.toLowerCase()}. Ein Job führt dies aus und zeigt seinen Fortschritt; er lässt sich abbrechen.`,
  ofOwner: (owner) => `von ${owner}`,
  more: (count) => `und ${countText(count)} weitere`,
}
