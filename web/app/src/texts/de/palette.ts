import { plural } from '@/format/number'
import type { Texts } from '../en'

export const palette: Texts['palette'] = {
  open: 'Gehe zu …',
  title: 'Öffnen oder ausführen',
  placeholder: 'Seite, Jobnummer, Zeitplan, Warteschlange, Jobtyp',
  kinds: {
    page: 'Seiten',
    job: 'Jobs',
    schedule: 'Zeitpläne',
    queue: 'Warteschlangen',
    type: 'Jobtypen',
    deed: 'Aktionen',
  },
  job: (id) => `Job #${id}`,
  results: (count) => plural(count, 'Treffer', 'Treffer'),
  searching: 'Suche läuft …',
  nothing:
    'Nichts gefunden. Jobs findet man hier über ihre Nummer, über alles andere auf ihrer Seite.',
  utcTimes: 'Alle Zeiten in UTC anzeigen',
  localTimes: 'Alle Zeiten in Ihrer Zone anzeigen',
}
