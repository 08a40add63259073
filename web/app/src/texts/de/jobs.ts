import { countText, plural } from '@/format/number'

import type { Texts } from '../en'

const jobCount = (count: number): string => plural(count, 'Job', 'Jobs')
const atLeast = (count: number, complete: boolean): string =>
  complete ? jobCount(count) : `mindestens ${countText(count)} Jobs`

export const jobs: Texts['jobs'] = {
  nextAttempt: (ago) => `Nächster Versuch ${ago}`,
  nextAttemptDue: 'Nächster Versuch fällig',
  title: 'Jobs',

  search: 'Jobs suchen',
  placeholder:
    'Suche: state:failed type:import* customer:4711 since:yesterday, ein Text oder eine Nummer',
  apply: 'Suchen',
  clear: 'Suche leeren',
  suggestions: 'Vorschläge',
  hints: {
    state: 'pending, started, finished, failed oder cancelled',
    type: 'Jobtyp; import* für einen Anfang',
    queue: 'Warteschlange',
    owner: 'Eigentümer',
    error: 'Text des Fehlers',
    tag: 'Schlagwort',
    since: 'erstellt ab: yesterday, 2h, 2026-11-01',
    until: 'erstellt bis',
    finished: 'beendet in dieser Zeit: today, <2h',
    duration: 'lief länger als 30s',
    wait: 'wartete länger als 1m',
    attempts: 'Anzahl der Versuche',
    schedule: 'Läufe eines Zeitplans',
    group: 'Mitglieder einer Gruppe',
    key: 'eindeutiger Schlüssel',
    id: 'Nummer des Jobs',
    params: 'ein Parameter, etwa params.customer:4711',
  },

  saved: 'Gespeichert',
  noneSaved: 'In diesem Browser ist noch keine Suche gespeichert.',
  searchName: 'Name dieser Suche',
  save: 'Speichern',
  forget: (name) => `Gespeicherte Suche ${name} löschen`,

  states: 'Zustände',
  created: 'Erstellt',
  ranges: {
    any: 'Jederzeit',
    minutes15: 'Letzte 15 Minuten',
    hour: 'Letzte Stunde',
    hours24: 'Letzte 24 Stunden',
    today: 'Heute',
    yesterday: 'Seit gestern',
    days7: 'Letzte 7 Tage',
    custom: 'Von … bis …',
  },
  betweenTitle: 'Jobs, die erstellt wurden zwischen',
  from: 'Von',
  until: 'Bis',
  betweenHint: 'In Ihrer Zeitzone. Eines von beiden darf leer sein.',
  show: 'Anzeigen',

  columnNames: {
    job: 'Job',
    state: 'Zustand',
    reason: 'Stand, Fehler',
    queue: 'Warteschlange',
    owner: 'Eigentümer',
    tags: 'Schlagwörter',
    attempt: 'Versuch',
    created: 'Erstellt',
    due: 'Fällig',
    ended: 'Beendet',
    wait: 'Wartezeit',
    duration: 'Dauer',
  },
  attempt: (attempt, most) => `${attempt} von ${most}`,
  selectAll: 'Alle auf dieser Seite auswählen',
  arrived: (count) => (count === 1 ? '1 neuer' : `${countText(count)} neue`),
  select: (id) => `Job ${id} auswählen`,
  progressOf: (id) => `Fortschritt von Job ${id}`,
  shortcuts: {
    next: 'Nächster Job',
    previous: 'Vorheriger Job',
    open: 'Job öffnen',
    select: 'Job auswählen oder abwählen',
    closePreview: 'Vorschau schließen',
  },

  order: 'Reihenfolge',
  orders: {
    newest: 'Neueste zuerst',
    oldest: 'Älteste zuerst',
    last_ended: 'Zuletzt beendete zuerst',
    first_ended: 'Zuerst beendete zuerst',
  },
  onlyEnded: 'Nur beendete Jobs.',
  pageSorted: (column) =>
    `Nur die Jobs dieser Seite sind nach „${column}“ sortiert. Die Seiten gehen vom neuesten Job zum ältesten.`,
  pageSize: 'Jobs je Seite',
  pagination: 'Seiten',
  firstPage: 'Erste Seite',
  previousPage: 'Zurück',
  nextPage: 'Nächste Seite',

  preview: 'Vorschau des Jobs',
  closePreview: 'Vorschau schließen',
  previewError: 'Fehler',
  started: 'Begonnen',
  parameters: 'Parameter',
  result: 'Ergebnis',

  actions: {
    cancel: 'Abbrechen',
    retry: 'Wiederholen',
    reschedule: 'Verschieben',
    delete: 'Löschen',
  },
  selected: (count) => `${jobCount(count)} ausgewählt`,
  selectedJobs: 'Ausgewählte Jobs',
  selectionFull: 'Mehr Jobs lassen sich nicht auswählen; es kann weitere Treffer geben.',
  selectMatching: (most) => `Alle Treffer auswählen (bis zu ${countText(most)})`,
  clearSelection: 'Auswahl aufheben',
  actionOn: (action, count) => `${jobCount(count)} ${action.toLowerCase()}`,
  askAction: (action, count) => `${jobCount(count)} ${action.toLowerCase()}?`,
  deletes: 'Die Jobs, ihre Versuche und ihre Ergebnisse werden endgültig gelöscht.',
  skips: 'Jobs, deren Zustand sich inzwischen geändert hat, werden übersprungen.',
  deletedLater:
    'dieser Server kennt den Jobtyp nicht; ein Knoten, der ihn kennt, wird den Job löschen',
  done: {
    cancel: (count) => `${jobCount(count)} abgebrochen.`,
    retry: (count) => `${jobCount(count)} wiederholt.`,
    delete: (count) => `${jobCount(count)} gelöscht.`,
  },
  notDone: {
    cancel: (count, reason) => `${jobCount(count)} nicht abgebrochen: ${reason}`,
    retry: (count, reason) => `${jobCount(count)} nicht wiederholt: ${reason}`,
    delete: (count, reason) => `${jobCount(count)} nicht gelöscht: ${reason}`,
  },

  changeMatching: 'Alle Treffer ändern',
  allMatching: 'Alle Treffer:',
  askMatching: (action) => `Alle Treffer ${action.toLowerCase()}?`,
  allJobs: 'alle Jobs',
  startAfter: 'Beginn nach',
  delayExample: '10m (leer: sofort)',
  counting: 'Wird gezählt …',
  noneChangeable: 'Keiner dieser Jobs lässt sich so ändern.',
  wouldChange: (action, count, complete) =>
    `${atLeast(count, complete)} ${action.toLowerCase()}. Ein Job führt dies aus und zeigt seinen Fortschritt; er lässt sich abbrechen.`,
  ofOwner: (owner) => `von ${owner}`,
  more: (count, complete) =>
    complete ? `und ${countText(count)} weitere` : `und mindestens ${countText(count)} weitere`,

  searchGoesOn: 'Bisher keine Treffer',
  searchGoesOnReason: 'Die Zeit reichte nicht, um alle Jobs zu durchsuchen.',
  searchOn: 'Weitersuchen',
  noMatch: 'Keine Treffer',
  noMatchReason: 'Beendete Jobs werden standardmäßig 30 Tage lang aufbewahrt.',
  showAll: 'Alle Jobs anzeigen',
  none: 'Noch keine Jobs',
  noneReason:
    'Ein Job ist ein Lauf einer Funktion, den Ihr Programm, ein Benutzer oder ein Zeitplan startet.',
  noneHint: 'Er erscheint hier sofort und wird aktualisiert, solange er läuft.',
}
