import { countText } from '@/format/number'
import type { Texts } from '../en'

export const types: Texts['types'] = {
  type: 'Typ',
  last: (range) => `Letzte ${range}`,
  course: 'Verlauf',
  perMinute: 'Pro min',
  failed: 'Fehler',
  share: 'Anteil',
  waitP50: 'Warten p50',
  waitP95: 'Warten p95',
  runP50: 'Lauf p50',
  runP95: 'Lauf p95',
  nameContains: 'Typen, deren Name enthält',
  name: 'Name',
  compareWithBefore: 'Vergleichen mit der Zeit vor',
  noDeployment: 'keinem Deployment',
  none: 'Noch keine Jobtypen',
  noneReason:
    'Ein Jobtyp erscheint hier, wenn ein Programm ihn deklariert, oder mit seinem ersten Job.',
  noMatch: 'Kein Typ passt.',
  ended: (range, count) => `Beendet in den letzten ${range}: ${countText(count)}`,
  before: 'vorher:',
  verdicts: {
    worse: 'schlechter als vorher:',
    better: 'besser als vorher:',
    same: 'etwa wie vorher:',
  },
  explained:
    'Warten ist von fällig bis gestartet, Lauf von gestartet bis beendet; die Hälfte der Jobs brauchte höchstens p50, 95 % höchstens p95. Die Werte sind aus einem Histogramm geschätzt und höchstens um ein Fünftel falsch.',
  comparedAt: (moment) =>
    `Die ersten Werte sind von ${moment} an, die zweiten aus der gleich langen Zeit davor.`,
  incomplete: 'Nur die 100 Typen mit der meisten Arbeit haben Werte.',
  jobs: 'Jobs',
  errors: 'Fehler',
}
