import { plural } from '@/format/number'
import type { Texts } from '../en'

export const limits: Texts['limits'] = {
  emptyTitle: 'Keine Limits',
  emptyText:
    'Ein Limit nach Schlüssel begrenzt über alle Knoten hinweg, wie oft oder wie viele Jobs mit demselben Schlüssel gleichzeitig starten:',
  limit: 'Limit',
  allowsEachKey: 'Erlaubt je Schlüssel',
  allows: 'Erlaubt',
  heldBack: 'Zurückgehalten',
  ofKeys: (count) => `von ${plural(count, 'Schlüssel', 'Schlüsseln')}`,
  atOnce: (count) => `${count} gleichzeitig`,
  slidingWindow: 'gleitendes Fenster',
  burstOf: (count) => `${count} auf einmal nach einer Pause`,
  othersDiscarded: 'weitere werden verworfen',
  notDeclared: 'nicht mehr deklariert',
  changedNotice: (name) => `Limit ${name} wurde geändert.`,
  resetNotice: (name) => `Limit ${name} gilt wieder, wie es deklariert ist.`,

  changeTitle: (name) => `${name} ändern`,
  changeText:
    'Die neuen Zahlen gelten je Schlüssel über alle Knoten hinweg, bis sie zurückgesetzt werden. Laufende Jobs laufen weiter.',
  perPeriod: 'Starts je Zeitraum',
  atATime: 'Jobs gleichzeitig',
  rate: 'Rate, zum Beispiel 10/s oder 100/h',
  maximum: 'Höchstens',
  sliding: 'Gleitendes Fenster: in keinem Zeitraum mehr',
  burst: 'Starts auf einmal nach einer Pause (optional)',
  invalidRate:
    'Geben Sie eine ganze Zahl, einen Schrägstrich und einen Zeitraum ein: 10/s, 5/30s, 100/h.',
  invalidMaximum: 'Geben Sie eine ganze Zahl ab 1 ein.',
}
