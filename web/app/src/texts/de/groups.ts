import { countText, plural } from '@/format/number'
import type { Texts } from '../en'

export const groups: Texts['groups'] = {
  name: 'Gruppe',
  title: (id) => `Gruppe #${id}`,
  states: { open: 'offen', ended: 'beendet', cancelled: 'abgebrochen' },
  progress: 'Fortschritt',
  allEnded: 'Alle Jobs sind beendet',
  notEnded: (running, total) =>
    `${countText(running)} von ${plural(total, 'Job')} noch nicht beendet`,
  details: 'Einzelheiten',
  members: 'Mitglieder',
  outcomes: (finished, failed, cancelled) =>
    `${countText(finished)} fertig, ${countText(failed)} fehlgeschlagen, ${countText(cancelled)} abgebrochen`,
  onFailure: 'Wenn einer nicht fertig wird',
  othersCancelled: 'die anderen werden abgebrochen',
  othersContinue: 'die anderen laufen weiter',
  then: 'Danach',
  job: (id) => `Job #${id}`,
  owner: 'Eigentümer',
  created: 'Erstellt',
  cancelled: 'Abgebrochen',
  ended: 'Beendet',
  cancelTitle: (id) => `Gruppe #${id} abbrechen?`,
  cancelText:
    'Alle Mitglieder, die noch nicht beendet sind, werden abgebrochen, und der Job danach läuft nicht.',
  cancelAction: 'Gruppe abbrechen',
  beingCancelled: (id) => `Gruppe ${id} wird abgebrochen.`,

  startGroup: 'Gruppe starten',
  newTitle: 'Eine Gruppe von Jobs starten',
  start: 'Starten',
  intro:
    'Jobs öffentlicher Typen, die gemeinsam verfolgt und abgebrochen werden. Parameter werden als JSON geschrieben.',
  nthJob: (place) => `Job ${place}`,
  jobAfter: 'Job danach',
  addJob: 'Job hinzufügen',
  thenOptional: 'Danach, wenn alle beendet sind (optional)',
  continue: 'Die anderen laufen weiter',
  cancel: 'Die anderen werden abgebrochen',
  started: (id, total) => `Gruppe ${id} wurde mit ${plural(total, 'Job')} gestartet.`,
  typeOf: (job) => `Typ: ${job}`,
  jobType: 'Jobtyp',
  parametersOf: (job) => `Parameter: ${job}`,
  parametersExample: 'Parameter: {"n": 1}',
  invalidJson:
    'Die Parameter sind kein gültiges JSON. Schreiben Sie sie als {"name": "Wert", "count": 3}.',
  notAnObject: 'Die Parameter sind ein Objekt mit ihren Namen, zum Beispiel {"count": 3}.',
  rounded: (number) =>
    `Ein Browser würde ${number} runden. Starten Sie den Job aus Python oder auf der Kommandozeile.`,
}
